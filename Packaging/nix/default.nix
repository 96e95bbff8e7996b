# `src` is the archive that `make dist` writes. It has the Swift packages that openurl needs, so the build needs no network.
{
  lib,
  stdenv,
  dbus,
  gettext,
  glibc,
  lld,
  pkg-config,
  sqlite,
  swift,
  swiftpm,
  src,
}:

assert lib.assertMsg (lib.versionAtLeast swift.version "6.3") "openurl needs Swift 6.3";

stdenv.mkDerivation {
  pname = "openurl";
  version = "0.1.0";
  inherit src;

  nativeBuildInputs = [
    gettext
    lld
    pkg-config
    swift
    swiftpm
  ];
  buildInputs = [
    dbus
    glibc.static
    sqlite
  ];

  # The package for Swift's package manager brings phases for a package without a Makefile.
  buildPhase = ''
    runHook preBuild
    # Swift's package manager has a cache in the home directory.
    export HOME=$TMPDIR
    make build LINK=shared
    runHook postBuild
  '';
  installPhase = ''
    runHook preInstall
    make install PREFIX=$out
    # The cache of the desktop's entries belongs to all packages.
    rm -f $out/share/applications/mimeinfo.cache
    runHook postInstall
  '';

  meta = {
    description = "Router of URLs to programs, over D-Bus";
    license = [
      lib.licenses.asl20
      lib.licenses.cc0
    ];
    mainProgram = "openurl";
    platforms = [
      "x86_64-linux"
      "aarch64-linux"
    ];
  };
}
