"""Prints debian/copyright (DEP-5) of a tree of programs: the given beginning, then each part that lies in the tree.

usage: python3 copyright.py TREE BEGINNING
"""

import email
import re
import sys
from collections.abc import Iterator
from email.message import Message
from pathlib import Path

INSTALLED = "/usr/lib/jobctl/tree"

#: What classifiers and free words call the licences that there are, by their names of SPDX.
SHORT = {
    "apache": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "bsd": "BSD-3-Clause",
    "bsd license": "BSD-3-Clause",
    "isc license (iscl)": "ISC",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "python software foundation license": "PSF-2.0",
}

MIT = """\
Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE."""


def licence_of(said: Message) -> str:
    """The expression of PEP 639; before it, a classifier, or the words of the field where they are a name."""
    expression = said.get("License-Expression")
    if expression:
        return expression
    words = [each.rpartition(" :: ")[2] for each in said.get_all("Classifier", []) if each.startswith("License ::")]
    words += [said.get("License", "").strip()]
    for word in words:
        if word and "\n" not in word and word != "OSI Approved":
            return SHORT.get(word.lower(), re.sub(r"[^A-Za-z0-9.+-]+", "-", word))
    return "see-its-text"


def notices(folder: Path) -> Iterator[str]:
    """The lines that claim a copyright, of the licences that lie with a part."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and re.match(r"(LICEN[CS]E|COPYING|NOTICE)", path.name, re.I):
            for line in path.read_text("utf-8", "replace").splitlines():
                found = re.match(r"\W*copyright\b[\s:]*(?:\(c\)|©)?\s*((?:\d{4}|\w+ \d{4}).*)", line, re.I)
                if found:
                    yield found[1].strip()


def stanzas(tree: Path) -> Iterator[tuple[str, str, str]]:
    """Files, holders and licence of each part, in an order that does not change."""
    for metadata in sorted(tree.rglob("*.dist-info/METADATA")):
        folder = metadata.parent
        said = email.message_from_string(metadata.read_text("utf-8"))
        name = str(said["Name"])
        if name.startswith("jobctl"):
            continue
        holders = list(dict.fromkeys(notices(folder)))
        holders = holders or [said.get("Author") or said.get("Author-email") or f"the authors of {name}"]
        where = f"usr/lib/jobctl/tree/{folder.parent.relative_to(tree)}"
        files = [f"{where}/{folder.name}/*", *(f"{where}/{top}*" for top in tops(folder))]
        yield "\n ".join(files), "\n ".join(holders), licence_of(said)


def tops(folder: Path) -> list[str]:
    """What a part puts beside its metadata: packages with a slash behind them, modules without."""
    listed = folder / "RECORD"
    found: set[str] = set()
    for line in listed.read_text("utf-8").splitlines() if listed.exists() else []:
        first, slash, _ = line.partition(",")[0].strip('"').partition("/")
        if first not in {"..", "__pycache__", folder.name}:
            found.add(first + slash)
    return sorted(found)


def main(tree: Path, beginning: Path) -> None:
    print(beginning.read_text("utf-8"))
    library = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}"
    print(f"Files: usr/lib/jobctl/tree/bin/python3*\n usr/lib/jobctl/tree/{library}/*")
    print("Copyright: 2001-2026 Python Software Foundation\nLicense: PSF-2.0\n")
    licences = {"MIT", "PSF-2.0"}
    for files, holders, licence in stanzas(tree):
        print(f"Files: {files}\nCopyright: {holders}\nLicense: {licence}\n")
        licences.add(licence)
    for licence in sorted(licences):
        if licence == "MIT":
            text = MIT
        elif licence in {"Apache-2.0", "MPL-2.0"}:
            text = f"The text is in /usr/share/common-licenses/{licence}."
        else:
            text = f"The text lies with each part in {INSTALLED}, in its folder of metadata."
        print(f"License: {licence}\n" + "\n".join(f" {line or '.'}" for line in text.splitlines()) + "\n")


main(Path(sys.argv[1]), Path(sys.argv[2]))
