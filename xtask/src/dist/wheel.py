"""Packs the files of a directory as a wheel, with the list of them that a wheel has: DIRECTORY WHEEL SECONDS.

The same files make the same bytes: entries are sorted, modes do not depend on the umask, and the time of all is
given in seconds since 1970, or is 1980, before which a zip file has no time.
"""

import base64
import hashlib
import pathlib
import stat
import sys
import time
import zipfile

FIRST = 315532800  # 1980
MOMENT = time.gmtime(max(FIRST, int(sys.argv[3])))[:6]


def add(archive, name, mode, content):
    entry = zipfile.ZipInfo(name, MOMENT)
    entry.external_attr = (stat.S_IFREG | mode) << 16
    archive.writestr(entry, content, zipfile.ZIP_DEFLATED)


def pack(tree, wheel):
    record = ""
    with zipfile.ZipFile(wheel, "w") as archive:
        for path in sorted(path for path in tree.rglob("*") if path.is_file()):
            name, content = path.relative_to(tree).as_posix(), path.read_bytes()
            may_run = path.stat().st_mode & stat.S_IXUSR
            add(archive, name, 0o755 if may_run else 0o644, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode()
            record += f"{name},sha256={digest.rstrip('=')},{len(content)}\n"
        # It stands in itself, without a checksum.
        name = next(tree.glob("*.dist-info")).name + "/RECORD"
        add(archive, name, 0o644, f"{record}{name},,\n")


pack(pathlib.Path(sys.argv[1]), sys.argv[2])
