"""make_wheel.py BUILD VERSION OUTPUT: packs what `./dev wheel` has built as a wheel, the recorder and the
command line without the engine, after checking that its binaries run where it says they do. Standard library
only.

The tag is the oldest libc that the binaries need, as PEP 600 writes it: manylinux_2_35 is Ubuntu 22.04.
"""
from __future__ import annotations

import base64
import hashlib
import re
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

_SOURCE = Path(__file__).resolve().parents[2]
_PYTHON = _SOURCE / "dump" / "python"
# Name in the package -> name in the build's.
_LIBRARIES = {"_record.abi3.so": "_record.abi3.so", "libmsdbg_record.so": "libmsdbg_record.so"}
_PROGRAM = {"bin/msdbg": "bin/msdbg-without-engine"}
_MOST_GLIBC = (2, 35)
# What every Linux with that libc has (PEP 600's list, as far as we need it).
_ALLOWED = re.compile(r"(libc|libm|libdl|libpthread|librt|libgcc_s|ld-linux-x86-64)\.so\.\d+"
                      r"|libmsdbg_record\.so")

_METADATA = """Metadata-Version: 2.1
Name: msdbg
Version: {version}
Summary: Records PyTorch training and finds the first operator that went wrong, and its source line
License: Apache-2.0
Requires-Python: >=3.9
Classifier: Operating System :: POSIX :: Linux
Classifier: Topic :: Software Development :: Debuggers

What is in it

- The recorder of PyTorch programs: `msdbg dump -- python train.py` (or torchrun, accelerate, a shell script),
  `python -m msdbg train.py`, or MSDBG_DUMP=run.msdbg before any launcher. torch is not installed with it.
- The command line, for runs of any program: dump -- PROGRAM, arm, info, check, search, show, stats, history,
  why, diff, verify, merge, conditions. `msdbg check` names the first wrong operator and its source line.
- libmsdbg_record.so: the recorder's C functions, for other frameworks.

What is not: the engine, with which msdbg trains models of its own and computes again what a run does not
store (models, ops, compile, bench, replay, dump MODEL, check --recheck), and the window, msdbg-gui. They come
with msdbg's build (./dev build in its sources) and read the same runs. What needs them says so.
"""


def check(binary: Path, exports: bool = True) -> tuple:
    """The glibc that it needs, at the least. Ends with what is wrong: another library, a newer symbol; of a
    library also a strange one that it exports."""
    dynamic = subprocess.run(["readelf", "-d", binary], text=True, capture_output=True, check=True).stdout
    foreign = [name for name in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic) if not _ALLOWED.fullmatch(name)]
    if foreign:
        sys.exit(f"make_wheel: {binary}: needs {', '.join(foreign)}, which not every machine has")
    symbols = subprocess.run(["objdump", "-T", binary], text=True, capture_output=True, check=True).stdout
    versions = {(int(major), int(minor)) for major, minor in re.findall(r"\bGLIBC_(\d+)\.(\d+)", symbols)}
    if (newest := max(versions)) > _MOST_GLIBC:
        version = f"GLIBC_{newest[0]}.{newest[1]})"
        who = sorted({line.split()[-1] for line in symbols.splitlines() if version in line})
        sys.exit(f"make_wheel: {binary}: {', '.join(who)} need glibc {newest[0]}.{newest[1]}")
    exported = [line.split()[-1] for line in symbols.splitlines() if " g " in line and "*UND*" not in line]
    strange = [name for name in exported if exports and not name.startswith(("msdbg_record_", "PyInit_"))]
    if strange:
        sys.exit(f"make_wheel: {binary}: exports {', '.join(strange[:5])}: another library's would clash")
    return newest


def record_line(name: str, content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}"


def contents(build: Path, version: str, tag: str) -> dict:
    """Name in the wheel -> (bytes, mode)."""
    files = {f"msdbg/{file.relative_to(_PYTHON / 'msdbg').as_posix()}": (file.read_bytes(), 0o644)
             for file in sorted((_PYTHON / "msdbg").rglob("*.py"))}
    files["msdbg/_inject/sitecustomize.py"] = ((_PYTHON / "inject" / "sitecustomize.py").read_bytes(), 0o644)
    files["msdbg.pth"] = ((_PYTHON / "msdbg.pth").read_bytes(), 0o644)
    for name, built in {**_LIBRARIES, **_PROGRAM}.items():
        files[f"msdbg/{name}"] = ((build / "python" / "msdbg" / built).read_bytes(), 0o755)
    license_text = (_SOURCE / "LICENSE").read_text()
    info = f"msdbg-{version}.dist-info"
    metadata = _METADATA.format(version=version)
    files[f"{info}/METADATA"] = (metadata.encode(), 0o644)
    files[f"{info}/entry_points.txt"] = (b"[console_scripts]\nmsdbg = msdbg._program:main\n", 0o644)
    files[f"{info}/LICENSE"] = (license_text.encode(), 0o644)
    wheel = f"Wheel-Version: 1.0\nGenerator: msdbg\nRoot-Is-Purelib: false\nTag: {tag}\n"
    files[f"{info}/WHEEL"] = (wheel.encode(), 0o644)
    record = [record_line(name, content) for name, (content, _) in files.items()] + [f"{info}/RECORD,,"]
    files[f"{info}/RECORD"] = (("\n".join(record) + "\n").encode(), 0o644)
    return files


def main(build: Path, version: str, output: Path) -> None:
    package = build / "python" / "msdbg"
    glibc = max([check(package / name) for name in _LIBRARIES.values()]
                + [check(package / name, exports=False) for name in _PROGRAM.values()])
    tag = f"cp39-abi3-manylinux_{glibc[0]}_{glibc[1]}_x86_64"
    output.mkdir(parents=True, exist_ok=True)
    wheel = output / f"msdbg-{version}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, (content, mode) in contents(build, version, tag).items():
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))  # the same bytes from the same build
            entry.external_attr = (stat.S_IFREG | mode) << 16  # pip makes only what is a file executable
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    print(wheel)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
