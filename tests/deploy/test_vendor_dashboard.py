"""The dashboard's libraries: what lies in the tree is what was published, and how it gets there."""

import io
import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from deploy import vendor_dashboard
from deploy.vendor_dashboard import LIBRARIES, LIST, VENDOR, Library, VendoringFailed
from tests.dashboard.node import node_program

WIDGET = Library(
    name="widget",
    version="1.2.3",
    licence="MIT",
    files={"dist/widget.mjs": "widget.js"},
    renamed={"gadget": "./gadget.js"},
)
PACKAGE = {
    "package.json": b'{"name":"widget","version":"1.2.3","license":"(MPL-2.0 OR MIT)"}',
    "LICENSE": b"Do as you like.\n",
    "dist/widget.mjs": b'import{a}from"gadget";export{a};\n//# sourceMappingURL=widget.mjs.map\n',
}
# In place of npm: it copies a package that lies ready, or fails with npm's words.
NPM = """#!{python}
import shutil, sys
name, _, version = sys.argv[2].partition("@")
try:
    shutil.copy(f"{ready}/{{name}}-{{version}}.tgz", ".")
except FileNotFoundError:
    sys.exit(f"npm error code E404\\nnpm error 404 {{name}}")
"""


def tarball(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"package/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


@pytest.fixture
def ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages that a stand-in for npm gives out; the widget lies in it, and is all that is wanted."""
    folder = tmp_path / "ready"
    folder.mkdir()
    (folder / "widget-1.2.3.tgz").write_bytes(tarball(PACKAGE))
    program = tmp_path / "bin" / "npm"
    program.parent.mkdir()
    program.write_text(NPM.format(python=sys.executable, ready=folder), encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    monkeypatch.setattr(vendor_dashboard, "LIBRARIES", (WIDGET,))
    return folder


@pytest.fixture
def vendored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the libraries in the tree, which the command line works on."""
    folder = tmp_path / "vendor"
    shutil.copytree(VENDOR, folder)
    monkeypatch.setattr(vendor_dashboard, "VENDOR", folder)
    return folder


def test_the_libraries_in_the_tree_are_those_that_were_published() -> None:
    assert vendor_dashboard.differences(VENDOR) == []


def test_each_library_is_listed_with_its_licence() -> None:
    for library, entry in zip(LIBRARIES, vendor_dashboard.listed(VENDOR), strict=True):
        files = [file["file"] for file in entry["files"]]
        assert (entry["name"], entry["version"], entry["licence"]) == (library.name, library.version, library.licence)
        assert files == [*library.files.values(), f"licenses/{library.name}.txt"]
        assert (VENDOR / "licenses" / f"{library.name}.txt").stat().st_size > 500


def test_a_check_says_that_all_is_well(vendored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert vendor_dashboard.main(["--check"]) == 0
    assert "VENDOR.json" in capsys.readouterr().out


def test_a_check_names_what_was_changed_lost_or_added(vendored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (vendored / "purify.js").open("ab") as file:
        file.write(b"\n")
    (vendored / "licenses" / "htm.txt").unlink()
    (vendored / "more.js").write_bytes(b"")

    assert vendor_dashboard.main(["--check"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "vendor: licenses/htm.txt is missing",
        "vendor: purify.js is not what VENDOR.json says",
        "vendor: more.js is not named in VENDOR.json",
    ]


def test_a_version_that_was_raised_and_not_fetched_is_told(vendored: Path) -> None:
    listing = json.loads((vendored / LIST).read_text(encoding="utf-8"))
    listing["libraries"][0]["version"] = "0.1.0"
    del listing["libraries"][1]
    (vendored / LIST).write_text(json.dumps(listing), encoding="utf-8")

    told = vendor_dashboard.differences(vendored)

    assert f"preact is pinned at {LIBRARIES[0].version} and listed at 0.1.0" in told
    assert f"htm is pinned at {LIBRARIES[1].version} and listed at no version" in told


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"libraries":[{}]}', '{"libraries":3}'])
def test_a_list_that_cannot_be_read_is_told(vendored: Path, text: str) -> None:
    (vendored / LIST).write_text(text, encoding="utf-8")

    assert vendor_dashboard.differences(vendored) == ["VENDOR.json can't be read"]


@pytest.mark.usefixtures("ready")
def test_a_library_is_fetched_with_its_licence_and_checked_against_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "vendor"
    monkeypatch.setattr(vendor_dashboard, "VENDOR", folder)

    assert vendor_dashboard.main([]) == 0

    assert (folder / "widget.js").read_bytes() == b'import{a}from"./gadget.js";export{a};\n'
    assert (folder / "licenses" / "widget.txt").read_bytes() == PACKAGE["LICENSE"]
    (entry,) = vendor_dashboard.listed(folder)
    assert entry["integrity"].startswith("sha512-")
    assert vendor_dashboard.differences(folder) == []


def test_a_release_that_changed_since_it_was_fetched_is_refused(ready: Path, tmp_path: Path) -> None:
    folder = tmp_path / "vendor"
    vendor_dashboard.fetch_all(folder)
    (ready / "widget-1.2.3.tgz").write_bytes(tarball({**PACKAGE, "README.md": b"New."}))

    with pytest.raises(VendoringFailed, match=r"widget 1\.2\.3 is another package than before"):
        vendor_dashboard.fetch_all(folder)


def test_a_package_that_npm_does_not_give_is_told_in_its_words(
    ready: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(vendor_dashboard, "VENDOR", tmp_path / "vendor")
    (ready / "widget-1.2.3.tgz").unlink()

    assert vendor_dashboard.main([]) == 1
    assert capsys.readouterr().err == "vendor: npm could not give widget 1.2.3: npm error code E404\n"


def test_without_npm_nothing_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(vendor_dashboard, "VENDOR", tmp_path / "vendor")
    monkeypatch.setenv("PATH", str(tmp_path))

    assert vendor_dashboard.main([]) == 1
    assert capsys.readouterr().err == "vendor: npm is not installed, and the libraries come from it\n"


def test_an_unknown_word_is_answered_with_the_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert vendor_dashboard.main(["--chek"]) == 2
    assert "--check" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"dist/widget.mjs": None}, "has no file dist/widget.mjs"),
        ({"LICENSE": None}, "has no file LICENSE"),
        ({"package.json": b'{"license":"BUSL-1.1"}'}, "is under BUSL-1.1, not MIT"),
        ({"package.json": None}, "is under no licence, not MIT"),
    ],
)
def test_a_package_that_is_not_as_it_was_is_refused(tmp_path: Path, change: dict[str, bytes | None], told: str) -> None:
    package = {name: content for name, content in {**PACKAGE, **change}.items() if content is not None}

    with pytest.raises(VendoringFailed, match=told):
        vendor_dashboard.write_files(WIDGET, package, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_package_is_read_and_nothing_of_it_is_written_where_it_says(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        outside = tarfile.TarInfo(str(tmp_path / "outside.js"))
        archive.addfile(outside, io.BytesIO(b""))
        link = tarfile.TarInfo("package/link.js")
        link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path)
        archive.addfile(link)

    assert "link.js" not in vendor_dashboard.unpacked(packed.getvalue())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("published", "loaded"),
    [
        (b"import 'gadget'", b"import './gadget.js'"),
        (b'export * from "gadget"', b'export * from "./gadget.js"'),
        (b'from "gadget/hooks"; from "my-gadget"', b'from "gadget/hooks"; from "my-gadget"'),
        (b'say("gadget")', b'say("gadget")'),
        (b"a()\r\n//# sourceMappingURL=a.map", b"a()\n"),
        (b"a{}\n/*# sourceMappingURL=a.css.map */\n", b"a{}\n"),
    ],
)
def test_modules_find_their_neighbours_and_no_source_map_is_asked_for(published: bytes, loaded: bytes) -> None:
    assert vendor_dashboard.as_loaded(WIDGET, published) == loaded


SCRIPT = """
import * as all from "./htm-preact.js";
import { marked } from "./marked.js";
import purify from "./purify.js";
const { html, memo, h } = all;
const View = () => null;
const Same = memo(View), Picky = memo(View, (before, after) => before.id === after.id);
const asked = (Memo, before, after) => new Memo(before).shouldComponentUpdate(after);
const link = html`<a href=${"x"} class="y">${1}<${View} n=2 /></a>`;
console.log(JSON.stringify({
  names: Object.keys(all).sort(),
  link: [link.type, link.props.href, link.props.class, link.props.children[1].type === View],
  anew: [asked(Same, {a: 1, b: 2}, {a: 1, b: 2}), asked(Same, {a: 1}, {a: 2}), asked(Same, {a: 1}, {b: 1}),
         asked(Same, {a: 1}, {}), asked(Picky, {id: 1, a: 1}, {id: 1, a: 2})],
  drawn: new Same({}).render({n: 3}).props,
  marked: marked.parse("**a**"),
  purify: purify.version,
}));
"""


def test_views_have_all_that_they_draw_with_from_one_module(tmp_path: Path) -> None:
    folder = tmp_path / "vendor"
    shutil.copytree(VENDOR, folder)
    (folder / "package.json").write_text('{"type":"module"}', encoding="utf-8")
    (folder / "try.js").write_text(SCRIPT, encoding="utf-8")

    ran = subprocess.run(
        [node_program(), str(folder / "try.js")], capture_output=True, text=True, check=False, timeout=50
    )

    assert ran.returncode == 0, ran.stderr
    told: dict[str, Any] = json.loads(ran.stdout)
    hooks = {"useCallback", "useContext", "useEffect", "useId", "useLayoutEffect", "useMemo", "useReducer", "useRef"}
    core = {"Component", "Fragment", "createContext", "createRef", "h", "html", "memo", "render", "useState"}
    assert hooks | core <= set(told["names"])
    assert told["link"] == ["a", "x", "y", True]
    assert told["anew"] == [False, True, True, True, False]
    assert told["drawn"] == {"n": 3}
    assert told["marked"] == "<p><strong>a</strong></p>\n"
    assert told["purify"] == next(library.version for library in LIBRARIES if library.name == "dompurify")
