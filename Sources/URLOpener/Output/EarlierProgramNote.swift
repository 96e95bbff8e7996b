internal import Translations

/// Returns a note that a handler's process runs an earlier program.
package func earlierProgramNote(of id: String) -> String {
    translated("\(id) still runs the program it was started from; 'openurl restart \(id)' starts the new one")
}
