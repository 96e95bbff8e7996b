# make demo, make test, make build, make install: README.md says more.

PREFIX ?= /usr/local
DESTDIR ?=
BINDIR = $(PREFIX)/bin
ROOT = $(DESTDIR)$(PREFIX)

BUILT = .build/release
PROGRAMS = openurl openurld todolist
HANDLERS = $(wildcard Schemes/*.plist)
SWIFT_FILES = Package.swift Sources Tests examples

BUILD_PACKAGES = dbus libdbus-1-dev pkg-config
TEST_PACKAGES = $(BUILD_PACKAGES) libglib2.0-bin python3-dbus python3-gi systemd util-linux

# Packages from elsewhere are built with their own settings: SwiftPM keeps this flag from them.
ifeq ($(CI),true)
STRICT = -Xswiftc -warnings-as-errors --explicit-target-dependency-import-check error
endif

# Everything that is installed, below PREFIX.
INSTALLED = \
	$(PROGRAMS:%=bin/%) \
	$(addprefix share/openurl/handlers/,$(notdir $(HANDLERS))) \
	share/dbus-1/services/org.openurl.Router1.service \
	lib/systemd/user/openurld.service \
	share/man/man1/openurl.1 \
	share/man/man8/openurld.8 \
	share/bash-completion/completions/openurl \
	share/fish/vendor_completions.d/openurl.fish \
	share/zsh/site-functions/_openurl

.PHONY: build demo test sanitize fuzz-dbus lint format install uninstall clean

build:
	@Packaging/require $(BUILD_PACKAGES)
	swift build -c release --static-swift-stdlib

# Builds what `make test` builds too.
demo:
	@Packaging/require $(BUILD_PACKAGES)
	swift build $(STRICT)
	@examples/demo.sh .build/debug

test:
	@Packaging/require $(TEST_PACKAGES)
	swift test --disable-xctest $(STRICT)

lint:
	swift format lint --strict --recursive $(SWIFT_FILES)

format:
	swift format format --in-place --recursive $(SWIFT_FILES)

# Builds only what is not there, so that `make build && sudo make install` compiles nothing as root.
$(PROGRAMS:%=$(BUILT)/%) &:
	$(MAKE) build

install: $(PROGRAMS:%=$(BUILT)/%)
	install -d $(sort $(dir $(INSTALLED:%=$(ROOT)/%)))
	install -m 755 $^ $(ROOT)/bin
	install -m 644 $(HANDLERS) $(ROOT)/share/openurl/handlers
	sed '/CFBundleExecutable/{n;s|>[^<]*<|>$(BINDIR)/todolist<|;}' Schemes/com.acme.todolist.plist | \
		install -m 644 /dev/stdin $(ROOT)/share/openurl/handlers/com.acme.todolist.plist
	sed 's|@BINDIR@|$(BINDIR)|' Packaging/org.openurl.Router1.service.in | \
		install -m 644 /dev/stdin $(ROOT)/share/dbus-1/services/org.openurl.Router1.service
	sed 's|@BINDIR@|$(BINDIR)|' Packaging/openurld.service.in | \
		install -m 644 /dev/stdin $(ROOT)/lib/systemd/user/openurld.service
	install -m 644 Packaging/openurl.1 $(ROOT)/share/man/man1
	install -m 644 Packaging/openurld.8 $(ROOT)/share/man/man8
	$(BUILT)/openurl --generate-completion-script bash | install -m 644 /dev/stdin $(ROOT)/share/bash-completion/completions/openurl
	$(BUILT)/openurl --generate-completion-script fish | install -m 644 /dev/stdin $(ROOT)/share/fish/vendor_completions.d/openurl.fish
	$(BUILT)/openurl --generate-completion-script zsh | install -m 644 /dev/stdin $(ROOT)/share/zsh/site-functions/_openurl

uninstall:
	rm -f $(INSTALLED:%=$(ROOT)/%)
	[ ! -d $(ROOT)/share/openurl/handlers ] || \
		{ cd $(ROOT)/share && rmdir -p --ignore-fail-on-non-empty openurl/handlers; }

clean:
	swift package clean

# The tests of what runs on the event loop, under ThreadSanitizer and AddressSanitizer.
sanitize:
	swift test --disable-xctest --sanitize=thread --scratch-path .build-thread --filter 'DBusTests|ReactorTests'
	swift test --disable-xctest --sanitize=address --scratch-path .build-address --filter 'DBusTests|ReactorTests'

# Ten minutes of messages that somebody tampered with.
fuzz-dbus:
	DBUS_TEST_FUZZ_SECONDS=600 swift test --disable-xctest --filter FuzzTests
