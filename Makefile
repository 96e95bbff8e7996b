# make demo, make test, make build, make install: README.md says more.

PREFIX ?= /usr/local
DESTDIR ?=
# The installed files name the programs by this path.
override PREFIX := $(abspath $(PREFIX))
BINDIR = $(PREFIX)/bin
ROOT = $(DESTDIR)$(PREFIX)
# The folder of the unit, for the commands below, if systemd does not look there.
UNIT_FOLDER = $(if $(filter-out /usr /usr/local,$(PREFIX)),$(PREFIX)/lib/systemd/user/)

BUILT = .build/release
VERSION := $(shell sed -n 's/.*current = "\(.*\)"/\1/p' Sources/Release/Version.swift)
# The time of everything that is packed, in seconds since 1970, so that the same sources give the same bytes: that of the last commit,
# or of the files of an archive.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || stat --format=%Y CHANGELOG.md)
# `make install EXAMPLES=todolist` also installs the to-do list, whose URLs the documents open.
EXAMPLES =
# `make build WITH=NAME` also builds the optional program openurl-NAME, and `make install WITH=NAME` installs it. OPTIONAL lists all
# names, and the tests need every program. `make install WITH=portal` makes the router a backend of xdg-desktop-portal, which then
# asks it about links.
WITH =
OPTIONAL = bridge chooser proofs
OPTIONAL_PROGRAMS = $(filter $(OPTIONAL),$(WITH))
export OPENURL_WITH = $(OPTIONAL_PROGRAMS)
PROGRAMS = openurl-command openurld openurl openurl-remote $(OPTIONAL_PROGRAMS:%=openurl-%) $(EXAMPLES)
HANDLERS = $(wildcard Schemes/org.openurl.*.plist $(EXAMPLES:%=Schemes/com.acme.%.plist))
INTERFACES = $(wildcard Packaging/interfaces/*.xml)
COMPLETIONS = Sources/OpenURLCommand/Completion/Scripts/openurl
LANGUAGES = $(basename $(notdir $(wildcard Packaging/po/*.po)))
CATALOGUES = $(LANGUAGES:%=.build/locale/%.mo)
SWIFT_FILES = Package.swift Sources Tests examples Benchmarks/Package.swift Benchmarks/Sources

BUILD_PACKAGES = dbus gcc gettext libdbus-1-dev libsqlite3-dev pkg-config $(foreach name,$(WITH),$(PACKAGES_OF_$(name)))
PACKAGES_OF_bridge = libmosquitto-dev
PACKAGES_OF_chooser = libgtk-4-dev
PACKAGES_OF_proofs = libcurl4-openssl-dev libjansson-dev
RELEASE_PACKAGES = $(BUILD_PACKAGES) libstdc++-12-dev
TEST_PACKAGES = $(BUILD_PACKAGES) bubblewrap desktop-file-utils fish libglib2.0-bin gir1.2-gtk-4.0 libsystemd-dev mosquitto openssh-client openssh-server openssl python3-dbus python3-gi shared-mime-info systemd util-linux xauth xdg-dbus-proxy xdg-utils xvfb zsh

# SwiftPM builds the packages of other projects without this flag.
ifeq ($(CI),true)
STRICT = -Xswiftc -warnings-as-errors --explicit-target-dependency-import-check error
# Print only failures and the summary: the tests that pass would hide them.
BRIEF = --quiet
endif

# Everything that is installed, below PREFIX.
INSTALLED = \
	$(PROGRAMS:%=bin/%) \
	libexec/openurl/xdg-open \
	$(addprefix share/openurl/handlers/,$(notdir $(HANDLERS))) \
	share/applications/org.openurl.Router1.desktop \
	share/dbus-1/services/org.openurl.Router1.service \
	$(addprefix share/dbus-1/interfaces/,$(notdir $(INTERFACES))) \
	lib/systemd/user/openurld.service \
	lib/systemd/user/openurl-share@.service \
	$(if $(filter bridge,$(WITH)),$(BRIDGE)) \
	lib/systemd/user-preset/90-openurl.preset \
	share/metainfo/org.openurl.Router1.metainfo.xml \
	share/man/man1/openurl.1 \
	share/man/man1/openurl-command.1 \
	share/man/man1/openurl-remote.1 \
	share/man/man5/openurl-manifest.5 \
	share/man/man8/openurld.8 \
	$(OPTIONAL_PROGRAMS:%=share/man/man8/openurl-%.8) \
	share/bash-completion/completions/openurl \
	share/fish/vendor_completions.d/openurl.fish \
	share/zsh/site-functions/_openurl \
	$(LANGUAGES:%=share/locale/%/LC_MESSAGES/openurl.mo) \
	$(if $(filter portal,$(WITH)),$(PORTAL))

# The unit of the bridge, and the files for its broker.
BRIDGE = lib/systemd/user/openurl-bridge.service share/openurl/bridge/mosquitto.conf share/openurl/bridge/acl

# The files of the backend. Portals before 1.17 take the first one by name that is for the desktop, so it has a link in front.
PORTAL = \
	share/dbus-1/services/org.freedesktop.impl.portal.desktop.openurl.service \
	share/xdg-desktop-portal/portals/openurl.portal \
	share/xdg-desktop-portal/portals/00-openurl.portal

# The entries and service files of the installed handlers.
PUBLISH = $(ROOT)/bin/openurl publish --system $(PREFIX)/share --root "$(abspath $(DESTDIR))"

# Packed relocations and merged functions make a smaller file, so a start touches less of it. Swift's options for the static library
# export all symbols, which nothing uses. The programs need no libraries beside them, and without a run path the dynamic linker does
# not look for any in ten directories. Only the debug build checks for exclusive access at run time
# (Documentation/Decisions/instructions.md). The disabled pass removes switches back to an actor that are needed
# (Documentation/Decisions/actor-hops.md). Debugging information and the hashes with which the compiler recognises
# unchanged code depend on the folder of the sources. Without both, the same sources give the same bytes in every folder.
RELEASE = -c release --static-swift-stdlib --disable-local-rpath -Xswiftc -cross-module-optimization -Xswiftc -use-ld=lld \
	-Xswiftc -Xllvm -Xswiftc -sil-disable-pass=optimize-hop-to-executor \
	-Xswiftc -enforce-exclusivity=unchecked \
	-Xswiftc -Xfrontend -Xswiftc -function-sections -Xlinker --no-export-dynamic -Xlinker --icf=safe \
	-Xlinker -z -Xlinker pack-relative-relocs \
	-debug-info-format none -Xswiftc -Xfrontend -Xswiftc -disable-incremental-llvm-codegen

# The build links libdbus into the programs, and places the functions that they call side by side, because the kernel reads and maps
# 64 KiB at the first call of each (Documentation/Decisions/release-link.md). LINK=shared does neither: it is one command line that
# needs nothing but the compiler and the system's libraries. The packages are built so. The record of calls needs an x86-64 processor.
LINK ?= $(if $(filter x86_64,$(shell uname -m)),static,shared)
ORDER = .build/called-functions
STATIC = --pkg-config-path .build/static -Xlinker -L.build/static
ORDERED = -Xlinker Packaging/unnamed.ld -Xlinker --symbol-ordering-file=$(ORDER) -Xlinker --no-warn-symbol-ordering

.PHONY: build help libraries order deb debtest packages dist reproducible tag demo shell test docs documents picture sanitize fuzz fuzz-dbus bench bench-dbus bench-open bench-registry bench-links soak chaos hosts bridge bench-bridge pushes reminders vmtest interop attack flood lint format install uninstall clean

# The program for containers and other machines needs no library there.
REMOTE = gcc -std=gnu11 -Os -static -s -ffunction-sections -Wl,--gc-sections -o $(BUILT)/openurl-remote Sources/openurl-remote/main.c

ifeq ($(LINK),shared)
build:
	@Packaging/require $(BUILD_PACKAGES)
	swift build $(RELEASE)
	$(REMOTE)
else
build: libraries $(ORDER)
	swift build $(RELEASE) $(STATIC) $(ORDERED)
	$(REMOTE)
endif

build: $(CATALOGUES)
$(CATALOGUES): .build/locale/%.mo: Packaging/po/%.po
	@Packaging/require gettext
	@mkdir -p $(@D)
	msgfmt -o $@ $<

help:
	@echo 'make build      builds the programs for an installation (the default)'
	@echo 'make install    installs them below PREFIX; make uninstall removes them'
	@echo 'make demo       opens a URL on a private bus and shows each step'
	@echo 'make shell      opens a shell on a private bus, with openurl on the path'
	@echo 'make test       builds and runs all tests'
	@echo 'make docs       writes the documentation of the libraries to .build/docs'
	@echo 'make documents  runs the examples of README.md and of the guide'
	@echo 'make lint       checks the style; make format corrects it'
	@echo 'make deb        builds a Debian package in .build/deb; make debtest tries it'
	@echo 'make packages   builds and checks the packages for all distributions'
	@echo 'make bench      compares times with other programs; Benchmarks/README.md lists more'
	@echo 'make clean      removes everything that was built'

libraries:
	@Packaging/require $(RELEASE_PACKAGES)
	@Packaging/static-dbus .build/static

# The functions that the programs call, recorded with programs that are linked without the record. An old record costs only speed;
# `make order` makes a new one, after a change of Swift's version or of much code.
$(ORDER): | libraries
	swift build $(RELEASE) $(STATIC)
	Packaging/record-order $(BUILT) >$@.new
	mv $@.new $@

order:
	rm -f $(ORDER) $(PROGRAMS:%=$(BUILT)/%)
	$(MAKE) build

# Uses the same build as `make test`.
demo:
	@Packaging/require $(BUILD_PACKAGES)
	swift build $(STRICT)
	@examples/demo.sh .build/debug

# A shell on a private bus, with the built programs on its path, to try handlers without an installation.
shell:
	@Packaging/require $(BUILD_PACKAGES)
	swift build $(STRICT)
	@examples/session.sh --log .build/debug bash -c 'openurl register Schemes/com.acme.todolist.plist && exec bash --norc'

# Everything that is built for tests includes the optional programs.
test docs documents sanitize interop: WITH = $(OPTIONAL)

# Tests that all run at once compete for the processors, and one of the product's time limits may run out.
test sanitize: export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH := $(shell echo $$((2 * $$(nproc))))
test:
	@Packaging/require $(TEST_PACKAGES)
	swift test --disable-xctest $(BRIEF) $(STRICT) $(TEST_OPTIONS)

# The documentation of the libraries, as a site for any web server. DocC reads what the build has left, so after `make test`
# nothing is compiled again.
docs:
	@Packaging/require $(BUILD_PACKAGES) python3
	swift build $(STRICT)
	.ci/docs.py .build/debug .build/docs

# Runs the examples of README.md and of the guide, after an installation, in `make shell`, and in the clone.
documents:
	@Packaging/require $(TEST_PACKAGES)
	swift build $(STRICT)
	Tests/Documents/run .build/debug

# The picture of a terminal in README.md, from real output.
picture: build
	@Packaging/require dbus python3-rich util-linux
	Documentation/make-picture $(BUILT)

lint:
	swift format lint --strict --recursive $(SWIFT_FILES)

format:
	swift format format --in-place --recursive $(SWIFT_FILES)

# Builds only missing programs, so that `make build && sudo make install` compiles nothing as root.
$(PROGRAMS:%=$(BUILT)/%) &:
	$(MAKE) build

# Both are part of shell commands here, and of the files that start the programs.
install uninstall: export PLACE = $(PREFIX)$(DESTDIR)
CHECK_PLACE = @case "$$PLACE" in *[][:space:][:cntrl:][\"\'\`\$$\&\|\;\<\>\(\){}*?!%=\\]*) \
	echo 'PREFIX and DESTDIR may have no spaces, quotes, or characters that are special in a shell, in a desktop entry or in a service file' >&2; exit 1;; \
	/*) ;; *) echo 'PREFIX must be an absolute path' >&2; exit 1;; esac

install: $(PROGRAMS:%=$(BUILT)/%) | $(CATALOGUES)
	$(CHECK_PLACE)
	install -d $(sort $(dir $(INSTALLED:%=$(ROOT)/%)))
	install -s -m 755 $^ $(ROOT)/bin
	ln -sf ../../bin/openurl $(ROOT)/libexec/openurl/xdg-open
	install -m 644 $(HANDLERS) $(ROOT)/share/openurl/handlers
	$(foreach name,$(EXAMPLES),sed '/CFBundleExecutable/{n;s|>[^<]*<|>$(BINDIR)/$(name)<|;}' Schemes/com.acme.$(name).plist | \
		install -m 644 /dev/stdin $(ROOT)/share/openurl/handlers/com.acme.$(name).plist)
	sed 's|@BINDIR@|$(BINDIR)|' Packaging/org.openurl.Router1.desktop.in | \
		install -m 644 /dev/stdin $(ROOT)/share/applications/org.openurl.Router1.desktop
	sed 's|@BINDIR@|$(BINDIR)|' Packaging/org.openurl.Router1.service.in | \
		install -m 644 /dev/stdin $(ROOT)/share/dbus-1/services/org.openurl.Router1.service
	sed 's|@BINDIR@|$(BINDIR)|' Packaging/openurld.service.in | \
		install -m 644 /dev/stdin $(ROOT)/lib/systemd/user/openurld.service
	sed 's|@BINDIR@|$(BINDIR)|' Packaging/openurl-share@.service.in | \
		install -m 644 /dev/stdin $(ROOT)/lib/systemd/user/openurl-share@.service
	$(if $(filter bridge,$(WITH)),$(INSTALL_BRIDGE))
	install -m 644 Packaging/90-openurl.preset $(ROOT)/lib/systemd/user-preset
	install -m 644 $(INTERFACES) $(ROOT)/share/dbus-1/interfaces
	install -m 644 Packaging/org.openurl.Router1.metainfo.xml $(ROOT)/share/metainfo
	install -m 644 Packaging/openurl.1 $(ROOT)/share/man/man1
	echo '.so man1/openurl.1' | install -m 644 /dev/stdin $(ROOT)/share/man/man1/openurl-command.1
	install -m 644 Packaging/openurl-remote.1 $(ROOT)/share/man/man1
	install -m 644 Packaging/openurl-manifest.5 $(ROOT)/share/man/man5
	install -m 644 Packaging/openurld.8 $(OPTIONAL_PROGRAMS:%=Packaging/openurl-%.8) $(ROOT)/share/man/man8
	install -m 644 $(COMPLETIONS).bash $(ROOT)/share/bash-completion/completions/openurl
	install -m 644 $(COMPLETIONS).fish $(ROOT)/share/fish/vendor_completions.d/openurl.fish
	install -m 644 $(COMPLETIONS).zsh $(ROOT)/share/zsh/site-functions/_openurl
	$(foreach language,$(LANGUAGES),install -m 644 .build/locale/$(language).mo \
		$(ROOT)/share/locale/$(language)/LC_MESSAGES/openurl.mo;)
	$(if $(filter portal,$(WITH)),$(INSTALL_PORTAL))
	$(PUBLISH)
	@# The cache belongs to all packages. With the root directory, it is the running system's.
	[ -z "$(filter-out /,$(abspath $(DESTDIR)))" ] || rm -f $(ROOT)/share/applications/mimeinfo.cache
	@[ -n "$(DESTDIR)" ] || printf '%s\n' $(if $(UNIT_FOLDER),'Add $(PREFIX)/share to XDG_DATA_DIRS and $(BINDIR) to PATH before the session starts.') \
		'To start the router with each login, run: systemctl --user enable --now $(UNIT_FOLDER)openurld.service' \
		'To write a handler, run: openurl new com.example.greeter --python'

INSTALL_BRIDGE = sed 's|@BINDIR@|$(BINDIR)|' Packaging/bridge/openurl-bridge.service.in | \
	install -m 644 /dev/stdin $(ROOT)/lib/systemd/user/openurl-bridge.service && \
	install -m 644 Packaging/bridge/mosquitto.conf Packaging/bridge/acl $(ROOT)/share/openurl/bridge

INSTALL_PORTAL = sed 's|@BINDIR@|$(BINDIR)|' Packaging/portal/org.freedesktop.impl.portal.desktop.openurl.service.in | \
	install -m 644 /dev/stdin $(ROOT)/share/dbus-1/services/org.freedesktop.impl.portal.desktop.openurl.service && \
	install -m 644 Packaging/portal/openurl.portal $(ROOT)/share/xdg-desktop-portal/portals && \
	ln -sf openurl.portal $(ROOT)/share/xdg-desktop-portal/portals/00-openurl.portal

# A package for Debian, in .build/deb. The packages that it needs to build are those of `make build`; Debian has no Swift.
deb:
	@Packaging/require debhelper dpkg-dev lintian
	$(MAKE) build LINK=shared WITH='$(OPTIONAL)'
	rm -rf .build/deb
	install -d .build/deb/openurl
	cp -r Packaging/debian .build/deb/openurl
	printf 'openurl (%s) unstable; urgency=medium\n\n  * The changelog of openurl lists the changes.\n\n -- %s  %s\n' $(VERSION) \
		"$$(sed -n 's/^Maintainer: //p' Packaging/debian/control)" \
		"$$(date --utc --rfc-email --date=@$(SOURCE_DATE_EPOCH))" >.build/deb/openurl/debian/changelog
	cd .build/deb/openurl && PROJECT=$(CURDIR) OPTIONAL='$(OPTIONAL)' dpkg-buildpackage --build=binary --no-sign
	lintian --fail-on error,warning .build/deb/*.changes
	ls -l .build/deb/*.deb

# The packages for Debian, for RPM and for Arch Linux, and checks of them, of their sources and of the files that they install.
packages: deb
	@Packaging/require appstream binutils desktop-file-utils libarchive-tools libc6-dev-arm64-cross makepkg nix-bin \
		pacman-package-manager rpm rpmlint shellcheck systemd util-linux
	Packaging/check-packages .build/packages

# The sources for a distribution, with the Swift packages that they need, so that the build needs no network.
dist:
	Packaging/make-archive openurl-$(VERSION) $(SOURCE_DATE_EPOCH) .build/dist

# Builds the package for Debian in two clones and compares the bytes. Takes two release builds.
reproducible:
	Packaging/compare-builds .build/reproducible

# Tags the last commit as this version; the notes are the version's section of the changelog.
tag:
	notes=$$(Packaging/release-notes $(VERSION)) && git tag --annotate --cleanup=whitespace --message="$$notes" $(VERSION)

# Installs, upgrades, downgrades and purges the package in a clean Debian without Swift, and opens a URL there as a new user. Needs root.
debtest: deb
	@Packaging/require debootstrap
	Packaging/try-deb .build/deb/openurl_$(VERSION)_*.deb .build/clean-debian

uninstall: WITH = $(OPTIONAL) portal
uninstall: EXAMPLES = $(if $(wildcard $(ROOT)/share/openurl/handlers/com.acme.todolist.plist),todolist)
uninstall:
	$(CHECK_PLACE)
	[ ! -x $(ROOT)/bin/openurl ] || $(PUBLISH) --remove
	rm -f $(INSTALLED:%=$(ROOT)/%)
	[ ! -d $(ROOT)/libexec/openurl ] || rmdir --ignore-fail-on-non-empty $(ROOT)/libexec/openurl
	[ ! -d $(ROOT)/share/openurl/bridge ] || rmdir --ignore-fail-on-non-empty $(ROOT)/share/openurl/bridge
	[ ! -d $(ROOT)/share/openurl/handlers ] || \
		{ cd $(ROOT)/share && rmdir -p --ignore-fail-on-non-empty openurl/handlers; }

clean:
	swift package clean

# All tests under ThreadSanitizer and under AddressSanitizer, and the tests of the event loop and of D-Bus under LeakSanitizer.
# Swift's printer of backtraces hangs with either.
#
# Left out are LinkProofTests and HostileSiteTests, because the program that asks sites may use less memory than either sanitizer
# needs; PathWatchTests under ThreadSanitizer, because a debug build of FilePath asks for thread-local data at each character, which
# takes minutes; and tests that bound memory, because they would measure the sanitizer's own.
# LeakSanitizer is not for the other tests: Foundation keeps the environments of processes, and Swift stores a pointer in an
# enum with tag bits, which LeakSanitizer does not recognise.
SANITIZE = SWIFT_BACKTRACE=enable=no swift test --disable-xctest $(BRIEF) -Xswiftc -use-ld=lld --skip LinkProofTests --skip HostileSiteTests \
	--skip hostileFilesAreReportedOrIgnoredAndTheRestIsServed
SANITIZE_ADDRESS = $(SANITIZE) --sanitize=address --scratch-path .build-address --skip GrowthTests
sanitize:
	@Packaging/require $(TEST_PACKAGES)
	$(SANITIZE) --sanitize=thread --scratch-path .build-thread --skip PathWatchTests
	ASAN_OPTIONS=detect_leaks=0 $(SANITIZE_ADDRESS) --skip urlOfTenMegabytesIsRefusedAndTheRouterStaysSmall \
		--skip aThousandSequentialOpensKeepTheirOrderAndLeakNothing
	LSAN_OPTIONS='suppressions="$(CURDIR)/Tests/leaks.supp":print_suppressions=0' \
		$(SANITIZE_ADDRESS) --filter 'DBusTests|ReactorTests'

# Random bytes for each reader of bytes from others, under AddressSanitizer: `make fuzz READERS='messages policy' FUZZ_SECONDS=3600`.
# Tests/Fuzz/README.md describes the readers. The compiler's instrumentation for a fuzzer is only for libraries, so the programs are
# linked separately.
FUZZ_SECONDS ?= 60
READERS ?= $(basename $(notdir $(wildcard Tests/Fuzz/Readers/*.swift)))
FUZZ_MODULES = Loopback Relay SiteProofs URLHandler URLRouter
fuzz: WITH = $(OPTIONAL)
fuzz:
	@Packaging/require $(BUILD_PACKAGES)
	for module in $(FUZZ_MODULES); do swift build -c release --scratch-path .build-fuzz --target $$module \
		-Xswiftc -sanitize=fuzzer,address -Xswiftc -parse-as-library -Xswiftc -enable-testing || exit; done
	Tests/Fuzz/run .build-fuzz/release .build/fuzz $(FUZZ_SECONDS) $(READERS)

BENCHMARKS = Benchmarks/.build/release
# The C programs beside which openurl is measured, in the directory that SwiftPM has made. SwiftPM would link them with libraries that
# they do not need.
BUILD_FLOOR = @for floor in dbus-floor open-floor; do \
	gcc -O2 -o $(BENCHMARKS)/$$floor Benchmarks/Floors/$$floor/*.c $$(pkg-config --cflags --libs dbus-1); done
BUILD_BENCHMARK = swift build -c release --static-swift-stdlib --package-path Benchmarks --product

# Times decisions about links among 10,000 rules.
bench-links:
	swift build -c release --product bench-links
	@$(BUILT)/bench-links

# Times GenericURL beside Foundation's URL, a memchr pass, and those of ada and uriparser that pkg-config finds, in one run.
PEERS = $(BENCHMARKS)/peers
bench:
	swift build -c release --package-path Benchmarks --product compare-url
	@rm -rf $(PEERS); mkdir -p $(PEERS)
	@! pkg-config --exists ada || c++ -std=c++20 -O3 -shared -fPIC -o $(PEERS)/ada.so Benchmarks/Peers/ada.cpp \
		$$(pkg-config --cflags --libs ada)
	@! pkg-config --exists liburiparser || cc -O3 -shared -fPIC -o $(PEERS)/uriparser.so Benchmarks/Peers/uriparser.c \
		$$(pkg-config --cflags --libs liburiparser)
	$(BENCHMARKS)/compare-url

# Times the DBus module beside C programs that make the same calls, through a bus and without one, in one run.
bench-dbus:
	@Packaging/require $(BUILD_PACKAGES)
	$(BUILD_BENCHMARK) compare-dbus
	$(BUILD_FLOOR)
	dbus-run-session -- $(BENCHMARKS)/compare-dbus

# Times opening URLs beside C programs that do only what is necessary, in one run.
BENCH_ROUNDS ?= 9
bench-open: build
	$(BUILD_BENCHMARK) bench-handler
	$(BUILD_BENCHMARK) bench-open
	$(BUILD_FLOOR)
	dbus-run-session -- $(BENCHMARKS)/bench-open $(BUILT) $(BENCH_ROUNDS)

# Times the registry, in the router and by itself, beside GIO with the same schemes, in one run.
bench-registry: build
	@Packaging/require $(TEST_PACKAGES)
	swift build -c release --package-path Benchmarks --product compare-registry
	dbus-run-session -- $(BENCHMARKS)/compare-registry $(BUILT)/openurld

# Opens a million URLs while handlers are killed at random, and accounts for every one.
SOAK_URLS ?= 1000000
soak: build
	$(BUILD_BENCHMARK) soak
	dbus-run-session -- $(BENCHMARKS)/soak $(BUILT)/openurld $(BUILT)/testhandler $(SOAK_URLS)

# Kills handlers, the router and the bus at random while URLs are opened, and accounts for every one.
CHAOS_SECONDS ?= 60
chaos: build
	@Packaging/require $(TEST_PACKAGES)
	Benchmarks/chaos.py $(BUILT) $(CHAOS_SECONDS)

# Sends URLs to another router over ssh while the connection is cut, and accounts for each one. `make hosts KILLS=20` also kills the
# routers.
HOST_URLS ?= 10000
CUTS ?= 100
KILLS ?= 0
hosts: build
	@Packaging/require $(TEST_PACKAGES)
	Benchmarks/hosts.py $(BUILT) $(HOST_URLS) $(CUTS) $(KILLS)

# Sends URLs to another router through a broker that is killed, cut off and robbed of its files, and accounts for each one.
BRIDGE_EVENTS ?= 30
bridge bench-bridge: WITH = bridge
bridge: build
	@Packaging/require $(TEST_PACKAGES)
	Benchmarks/bridge.py $(BUILT) chaos 2000 $(BRIDGE_EVENTS)

# Measures a router and its bridge with a broker and simulated hosts.
BRIDGE_HOSTS ?= 1 100 1000
bench-bridge: build
	@Packaging/require $(TEST_PACKAGES)
	Benchmarks/bridge.py $(BUILT) figures $(BRIDGE_HOSTS)

# Sends pushes to suspended handlers while the router is killed, and accounts for every one.
pushes: build
	@Packaging/require $(TEST_PACKAGES)
	Benchmarks/pushes.py $(BUILT)

# Schedules ten thousand reminders, kills the router while their times come, and accounts for every one.
reminders: build
	@Packaging/require $(TEST_PACKAGES)
	Benchmarks/reminders.py $(BUILT)

# Checks openurl and its package in real login sessions of a small machine, whose disk is made once, as root, in .build/vm.
# `make vmtest VM_PARTS=package` checks the package alone, and `VM_PARTS=sessions` the rest.
vmtest: deb
	@Packaging/require debootstrap e2fsprogs qemu-system-x86
	Tests/VirtualMachine/run .build/vm

# Opens URLs through the desktop's real programs, from Debian's packages: `make interop CHECKS='kde firefox'` runs some of them.
CHECKS ?=
interop: build
	@Packaging/require $(TEST_PACKAGES) python3
	Tests/Interop/run $(BUILT) $(CHECKS)

# Attacks openurl as sandboxes, strangers and handlers do: `make attack ATTACKS='sandbox names'` runs some of the attacks.
ATTACKS ?=
ATTACK_PACKAGES = $(TEST_PACKAGES) bubblewrap python3
attack: build
	@Packaging/require $(ATTACK_PACKAGES)
	Tests/Attack/run $(BUILT) $(ATTACKS)

# All floods at once, with another caller measured meanwhile.
FLOOD_SECONDS ?= 600
flood: build
	@Packaging/require $(ATTACK_PACKAGES)
	Tests/Attack/flood $(BUILT) $(FLOOD_SECONDS)

# Ten minutes of messages with random changes.
fuzz-dbus:
	DBUS_TEST_FUZZ_SECONDS=600 swift test --disable-xctest --filter FuzzTests
