"""A small D-Bus client: messages over the socket of a bus, with nothing between the caller and the bytes.

A value of the type `v` is a pair of a signature and a value. A value of the type `h` is a number of a descriptor in `fds`.
"""

import array, glob, os, select, socket, struct, time

ROUTER = "org.openurl.Router1"
ROUTER_PATH = "/org/openurl/Router1"
BUS = "org.freedesktop.DBus"
LANE, LANE_PATH = "org.openurl.Lane1", "/org/openurl/Lane1"
CALL, RETURN, ERROR, SIGNAL = 1, 2, 3, 4
FIXED = {"y": "B", "n": "h", "q": "H", "i": "i", "u": "I", "x": "q", "t": "Q", "d": "d", "b": "I", "h": "I"}
FIELDS = {"path": (1, "o"), "interface": (2, "s"), "member": (3, "s"), "error": (4, "s"), "serial": (5, "u"),
          "destination": (6, "s"), "sender": (7, "s"), "signature": (8, "g"), "fds": (9, "u")}


class BusError(Exception):
    """An error that came back. `name` is the name of the error."""

    def __init__(self, name, message):
        super().__init__(f"{name}: {message}")
        self.name, self.message = name, message

    @property
    def short(self):
        return self.name.rpartition(".")[2]


class NoAnswer(Exception):
    """No answer came in time, or the bus closed the connection."""


def split(signature):
    """Yields the complete types of a signature."""
    at = 0
    while at < len(signature):
        end = end_of_type(signature, at)
        yield signature[at:end]
        at = end


def end_of_type(signature, at):
    if signature[at] == "a":
        return end_of_type(signature, at + 1)
    if signature[at] in "({":
        at += 1
        while signature[at] not in ")}":
            at = end_of_type(signature, at)
    return at + 1


def alignment(kind):
    return {"y": 1, "g": 1, "v": 1, "n": 2, "q": 2, "x": 8, "t": 8, "d": 8, "(": 8, "{": 8}.get(kind[0], 4)


def pad(out, size):
    out.extend(bytes(-len(out) % size))


def write(out, kind, value):
    first = kind[0]
    if first in FIXED:
        pad(out, alignment(first))
        out += struct.pack("<" + FIXED[first], value)
    elif first in "so":
        data = value.encode(errors="surrogateescape") if isinstance(value, str) else value
        pad(out, 4)
        out += struct.pack("<I", len(data)) + data + b"\0"
    elif first == "g":
        out += bytes([len(value)]) + value.encode() + b"\0"
    elif first == "v":
        write(out, "g", value[0])
        write(out, value[0], value[1])
    elif first == "a":
        pad(out, 4)
        place = len(out)
        out += bytes(4)
        pad(out, alignment(kind[1]))
        start = len(out)
        if kind[1] == "y":
            out += value
        else:
            for item in value.items() if kind[1] == "{" else value:
                write(out, kind[1:], item)
        struct.pack_into("<I", out, place, len(out) - start)
    else:
        pad(out, 8)
        for part, item in zip(split(kind[1:-1]), value, strict=True):
            write(out, part, item)


def read(data, at, kind, order="<"):
    """Returns the value at an offset, and the offset behind the value."""
    first = kind[0]
    at += -at % alignment(first)
    if first in FIXED:
        (value,) = struct.unpack_from(order + FIXED[first], data, at)
        return (bool(value) if first == "b" else value), at + struct.calcsize(FIXED[first])
    if first in "so":
        (size,) = struct.unpack_from(order + "I", data, at)
        return bytes(data[at + 4:at + 4 + size]).decode(errors="replace"), at + 5 + size
    if first == "g":
        return bytes(data[at + 1:at + 1 + data[at]]).decode(), at + 2 + data[at]
    if first == "v":
        inner, at = read(data, at, "g", order)
        return read(data, at, inner, order)
    if first == "a":
        (size,) = struct.unpack_from(order + "I", data, at)
        at += 4
        at += -at % alignment(kind[1])
        end, items = at + size, []
        if kind[1] == "y":
            return bytes(data[at:end]), end
        while at < end:
            item, at = read(data, at, kind[1:], order)
            items.append(item)
        return (dict(items) if kind[1] == "{" else items), at
    items = []
    for part in split(kind[1:-1]):
        item, at = read(data, at, part, order)
        items.append(item)
    return tuple(items), at


class Message:
    """A message that came in. `body` holds its values."""

    def __init__(self, data, fds):
        order = "<" if data[0] == ord("l") else ">"
        self.kind, self.flags, self.serial = data[1], data[2], struct.unpack_from(order + "I", data, 8)[0]
        fields, at = read(data, 12, "a(yv)", order)
        names = {number: name for name, (number, _) in FIELDS.items()}
        self.fields = {names[number]: value for number, value in fields if number in names}
        self.data, self.at, self.order, self.fds = data, at + -at % 8, order, fds

    def __getattr__(self, name):
        if name in FIELDS:
            return self.fields.get(name)
        raise AttributeError(name)

    @property
    def reply_to(self):
        return self.fields.get("serial")

    @property
    def body(self):
        values, at = [], self.at
        for part in split(self.fields.get("signature", "")):
            value, at = read(self.data, at, part, self.order)
            values.append(value)
        return values


def encode(kind, serial, fields, signature="", body=(), fds=(), flags=0):
    content = bytearray()
    for part, value in zip(split(signature), body, strict=True):
        write(content, part, value)
    fields = {name: value for name, value in fields.items() if value is not None}
    if signature:
        fields["signature"] = signature
    if fds:
        fields["fds"] = len(fds)
    head = bytearray(struct.pack("<BBBBII", ord("l"), kind, flags, 1, len(content), serial))
    write(head, "a(yv)", [(FIELDS[name][0], (FIELDS[name][1], value)) for name, value in fields.items()])
    pad(head, 8)
    return bytes(head + content)


class Bus:
    """A connection to a bus. `wait` is the time limit of a call in seconds, if the call gives none."""

    wait = 20

    def __init__(self, address=None):
        address = address or os.environ["DBUS_SESSION_BUS_ADDRESS"]
        keys = dict(part.split("=", 1) for part in address.split(";")[0].removeprefix("unix:").split(","))
        self.connect(keys["path"] if "path" in keys else "\0" + keys["abstract"])
        self.name = self.hello()

    def connect(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(path)
        self.buffer, self.fds, self.serial, self.waiting = bytearray(), [], 0, []

    def hello(self):
        """Authenticates, and returns the name of this connection."""
        self.socket.sendall(b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\n")
        if not self.line().startswith(b"OK"):
            raise NoAnswer("the bus accepts no authentication")
        self.socket.sendall(b"NEGOTIATE_UNIX_FD\r\n")
        self.line()
        self.socket.sendall(b"BEGIN\r\n")
        return self.introduce()

    def introduce(self):
        return self.call_bus("Hello")[0]

    def line(self):
        data = b""
        while not data.endswith(b"\r\n"):
            piece = self.socket.recv(1)
            if not piece:
                raise NoAnswer("the bus closed the connection")
            data += piece
        return data

    def close(self):
        self.socket.close()

    # Sending

    def send(self, kind, fields, signature="", body=(), fds=(), flags=0):
        """Sends a message, and returns its number."""
        self.serial += 1
        data = encode(kind, self.serial, fields, signature, body, fds, flags)
        if fds:
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]
            sent = self.socket.sendmsg([data], rights)
            data = data[sent:]
        self.socket.sendall(data)
        return self.serial

    def begin(self, interface, member, signature="", body=(), to=ROUTER, path=ROUTER_PATH, fds=(), flags=0):
        """Sends a call, and returns its number."""
        fields = {"path": path, "interface": interface, "member": member, "destination": to}
        return self.send(CALL, fields, signature, body, fds, flags)

    def call(self, interface, member, signature="", body=(), to=ROUTER, path=ROUTER_PATH, fds=(), wait=None):
        """Calls a method, and returns the values of the answer. Throws `BusError` or `NoAnswer`."""
        return self.answer(self.begin(interface, member, signature, body, to, path, fds), wait)

    def call_bus(self, member, signature="", *body):
        return self.call(BUS, member, signature, body, BUS, "/org/freedesktop/DBus")

    def open(self, url, options={}, wait=None):
        return self.call(ROUTER, "OpenURL", "sa{sv}", [url, options], wait=wait)[0]

    # Receiving

    def receive(self, wait=None):
        """Returns the next message, or throws `NoAnswer`."""
        if self.waiting:
            return self.waiting.pop(0)
        return self.receive_new(wait)

    def receive_new(self, wait=None):
        end = time.monotonic() + (self.wait if wait is None else wait)
        while True:
            message = self.take()
            if message:
                return message
            ready, _, _ = select.select([self.socket], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise NoAnswer(f"no message in {self.wait if wait is None else wait} s")
            data, fds, _, _ = socket.recv_fds(self.socket, 1 << 18, 253)
            self.fds += fds
            if not data:
                raise NoAnswer("the bus closed the connection")
            self.buffer += data

    def take(self):
        """Takes a whole message out of the buffer."""
        if len(self.buffer) < 16:
            return None
        order = "<" if self.buffer[0] == ord("l") else ">"
        body, _, fields = struct.unpack_from(order + "III", self.buffer, 4)
        size = 16 + fields + -fields % 8 + body
        if len(self.buffer) < size:
            return None
        data = bytes(self.buffer[:size])
        del self.buffer[:size]
        message = Message(data, [])
        count = message.fields.get("fds", 0)
        message.fds, self.fds = self.fds[:count], self.fds[count:]
        return message

    def answer(self, serial, wait=None):
        """Waits for the answer to a call; other messages wait for `receive`."""
        end = time.monotonic() + (self.wait if wait is None else wait)
        early = [message for message in self.waiting if message.kind in [RETURN, ERROR] and message.reply_to == serial]
        while True:
            if early:
                message = early[0]
                self.waiting.remove(message)
            else:
                message = self.receive_new(max(0, end - time.monotonic()))
            if message.kind in [RETURN, ERROR] and message.reply_to == serial:
                if message.kind == ERROR:
                    raise BusError(message.error, str((message.body or [""])[0]))
                return message.body
            self.waiting.append(message)

    def reply(self, call, signature="", body=()):
        self.send(RETURN, {"serial": call.serial, "destination": call.sender}, signature, body)

    def refuse(self, call, name, text):
        self.send(ERROR, {"serial": call.serial, "destination": call.sender, "error": name}, "s", [text])

    def own(self, name, flags=4):
        """Asks for a name: 1 owner, 2 in line, 3 refused, 4 owner already."""
        return self.call_bus("RequestName", "su", name, flags)[0]

    def watch(self, rule):
        self.call_bus("AddMatch", "s", rule)


class Lane(Bus):
    """A connection to the router's own socket."""

    def __init__(self, path=None, greets=True):
        self.connect(path or os.environ.get("LANE") or lane_path())
        self.name = self.hello() if greets else None

    def introduce(self):
        return self.call_lane("Hello")[0]

    def call_lane(self, member, signature="", *body, wait=None):
        return self.call(LANE, member, signature, body, path=LANE_PATH, wait=wait)

    def offer(self, id):
        self.call_lane("Offer", "s", id)


def lane_path(directory=None):
    """Returns the path of the router's socket."""
    directory = directory or os.environ["XDG_RUNTIME_DIR"]
    found = glob.glob(f"{glob.escape(directory)}/openurl/lane-*")
    if not found:
        raise NoAnswer("the router has no socket")
    return found[0]
