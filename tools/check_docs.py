#!/usr/bin/env python3
"""Checks the documentation against the source tree.

- Every relative link in a Markdown file leads to a file that is there, and its anchor to a heading.
- Every C++ block in docs/, in README.md and below examples/ is code that is compiled. It follows a comment that says
  where it comes from, and is equal to that region but for the indentation:
      <!-- from: examples/approval/main.cc [approval] -->
  The region lies between the lines `// [approval]` and `// [/approval]`. A program that a CMakeLists.txt takes out of
  the Markdown file itself follows `<!-- compiled by: examples/CMakeLists.txt -->`. Blocks that are not meant to compile
  say so: ```cpp wrong, or ```cpp fragment for signatures and the like.
- Every public name of include/pawl is in the reference: a member in the section of its class. What is in a namespace
  `detail` or follows the comment `// For the library` is not for users.
- Every error code and every exception has a page in docs/errors, and every page there is about one of them.

With --fix, blocks are made equal to their regions, and a block that is a region of a file beside its page, and does not
say so, gets its comment. Prints what is wrong as path:line: message and returns 1.
"""

import argparse
import pathlib
import re
import sys
import tempfile
import textwrap
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent

FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,})\s*(?P<info>[^`]*)$")
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\[\]]*\])*\]"
                  r"\(\s*<?(?P<target>[^()\s<>]+(?:\([^()\s]*\))?)>?(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE_LINK = re.compile(r"^\s{0,3}\[[^\]]+\]:\s*<?(?P<target>[^\s>]+)")
INLINE_CODE = re.compile(r"(`+)(.+?)\1")
FROM = re.compile(r"^<!--\s*from:\s*(?P<path>\S+)\s+\[(?P<region>[^\]]+)\]\s*-->$")
COMPILED_BY = re.compile(r"^<!--\s*compiled by:\s*(?P<path>\S+)\s*-->$")
MARKER = re.compile(r"^\s*(?://|#)\s*\[(?P<end>/?)(?P<region>[\w.-]+)\]\s*$")
NOT_COMPILED = {"cpp wrong", "cpp fragment"}
CODE = re.compile(r'"(PAWL-\d{4})')
UNREACHABLE_CODES = {"PAWL-1000"}  # What a switch over all kinds returns after its end.


# --- Markdown ---------------------------------------------------------------------------------------------------------

def markdown_files(root):
    """All Markdown files of the tree but those in hidden directories, and in those of builds and of what they fetch."""
    made = {"node_modules", "dist", "target"}
    for path in sorted(root.rglob("*.md")):
        parts = path.relative_to(root).parts[:-1]
        if not any(part.startswith(".") or part.startswith("build") or part in made for part in parts):
            yield path


class Page:
    """One Markdown file: its lines, which of them are code, its headings."""

    def __init__(self, path):
        self.path = path
        self.lines = path.read_text(encoding="utf-8").splitlines()
        self.blocks = []  # (line of the fence, line of the closing fence, info), counted from 0
        self.is_code = [False] * len(self.lines)
        opened = None
        for number, line in enumerate(self.lines):
            match = FENCE.match(line)
            if opened is None and match:
                opened = (number, match["fence"], " ".join(match["info"].split()))
                self.is_code[number] = True
            elif opened is not None:
                self.is_code[number] = True
                if match and match["fence"].startswith(opened[1]) and not match["info"].strip():
                    self.blocks.append((opened[0], number, opened[2]))
                    opened = None
        self.unclosed = opened[0] if opened else None

    def prose(self):
        """(number, line) of what is no code block, without inline code."""
        for number, line in enumerate(self.lines):
            if not self.is_code[number]:
                yield number, INLINE_CODE.sub(lambda match: " " * len(match[0]), line)

    def headings(self):
        """(number, depth, text) of each heading."""
        for number, line in enumerate(self.lines):
            match = re.match(r"^(#{1,6})\s+(.*?)\s*#*$", line)
            if match and not self.is_code[number]:
                yield number, len(match[1]), match[2]

    def anchors(self):
        """What can follow a # in a link to this page, by the rules of the usual viewers."""
        seen = {}
        found = set(re.findall(r'<a (?:id|name)="([^"]+)"', "\n".join(self.lines)))
        for _, _, text in self.headings():
            text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
            slug = re.sub(r"[^\w\- ]", "", text.lower().replace("`", "")).replace(" ", "-")
            count = seen.get(slug, 0)
            seen[slug] = count + 1
            found.add(slug if count == 0 else f"{slug}-{count}")
        return found


def check_links(page, root, pages):
    """Complaints about links of one page."""
    for number, line in page.prose():
        targets = [match["target"] for match in LINK.finditer(line)]
        if match := REFERENCE_LINK.match(line):
            targets.append(match["target"])
        for target in targets:
            if re.match(r"^[a-z][a-z0-9+.-]*:", target):
                continue
            name, _, anchor = target.partition("#")
            name = urllib.parse.unquote(name)
            path = page.path if not name else (root / name[1:] if name.startswith("/") else page.path.parent / name)
            path = path.resolve()
            if not path.exists():
                yield number, f"the link '{target}' leads nowhere"
            elif not path.is_relative_to(root):
                yield number, f"the link '{target}' leads out of the tree"
            elif anchor and path.suffix == ".md":
                other = pages.get(path) or Page(path)
                if anchor not in other.anchors():
                    yield number, f"the link '{target}': no heading of {path.relative_to(root)} has this anchor"


# --- Blocks -----------------------------------------------------------------------------------------------------------

SOURCES = (".cc", ".h", ".hpp")


def read_region(path, region):
    """The lines of a region without common indentation, or a complaint."""
    lines = path.read_text(encoding="utf-8").splitlines()
    begins = []
    ends = []
    for number, line in enumerate(lines):
        match = MARKER.match(line)
        if match and match["region"] == region:
            (ends if match["end"] else begins).append(number)
    if len(begins) != 1 or len(ends) != 1 or ends[0] < begins[0]:
        return None, f"has no region [{region}] that begins and ends once"
    inside = [line for line in lines[begins[0] + 1:ends[0]] if not MARKER.match(line)]
    text = textwrap.dedent("\n".join(inside)).strip("\n")
    return ([line.rstrip() for line in text.split("\n")], None) if text else (None, f"has nothing in region [{region}]")


def find_region(folder, wanted):
    """(file, region) of a region below `folder` with these lines, or None."""
    for path in sorted(folder.rglob("*")):
        if path.suffix in SOURCES and not any(part.startswith("build") for part in path.relative_to(folder).parts[:-1]):
            for line in path.read_text(encoding="utf-8").splitlines():
                match = MARKER.match(line)
                if match and not match["end"] and read_region(path, match["region"])[0] == wanted:
                    return path, match["region"]
    return None


def is_compiled(path, root):
    """Some CMakeLists.txt beside it or above it names the file; or, of a header, one that includes it."""
    if path.suffix != ".cc":
        include = re.compile(r'^\s*#\s*include\s*"' + re.escape(path.name) + '"', flags=re.M)
        return any(include.search(source.read_text(encoding="utf-8")) and is_compiled(source, root)
                   for source in path.parent.glob("*.cc"))
    folder = path.parent
    while folder.is_relative_to(root):
        lists = folder / "CMakeLists.txt"
        if lists.exists():
            relative = path.relative_to(folder).as_posix()
            for word in re.split(r"[\s()\"]+", lists.read_text(encoding="utf-8")):
                # A variable stands for any text: fulfil_${version}.cc.
                pattern = r"[\w.-]+".join(map(re.escape, re.split(r"\$\{\w+\}", word)))
                if word.endswith(path.suffix) and re.fullmatch(pattern, relative):
                    return True
        folder = folder.parent
    return False


def has_checked_blocks(page, root):
    parts = page.path.relative_to(root).parts
    return parts == ("README.md",) or parts[0] in ("docs", "examples")


def check_blocks(page, root, fixes):
    """Complaints about the C++ blocks of one page. `fixes` gets (first line, end, new lines) for stale ones."""
    if page.unclosed is not None:
        yield page.unclosed, "this code block has no end"
    if not has_checked_blocks(page, root):
        return
    for begin, end, info in page.blocks:
        if info.split(" ")[0] not in ("cpp", "c++", "cc"):
            continue
        if info in NOT_COMPILED:
            continue
        if info != "cpp":
            yield begin, f"unknown sort of block '{info}'; there are cpp, cpp wrong and cpp fragment"
            continue
        before = begin - 1
        while before >= 0 and not page.lines[before].strip():
            before -= 1
        comment = page.lines[before].strip() if before >= 0 else ""
        if match := COMPILED_BY.match(comment):
            lists = root / match["path"]
            if not lists.exists() or page.path.name not in lists.read_text(encoding="utf-8"):
                yield before, f"{match['path']} does not read this page"
            continue
        match = FROM.match(comment)
        got = [line.rstrip() for line in page.lines[begin + 1:end]]
        if not match:
            if page.path.parent != root and (known := find_region(page.path.parent, got)):
                fixes.append((begin, begin, [f"<!-- from: {known[0].relative_to(root).as_posix()} [{known[1]}] -->"]))
            yield begin, "say where this code comes from: <!-- from: PATH [REGION] -->, or that it is ```cpp wrong or " \
                         "```cpp fragment"
            continue
        source = root / match["path"]
        if not source.is_file():
            yield before, f"there is no {match['path']}"
            continue
        wanted, problem = read_region(source, match["region"])
        if problem:
            yield before, f"{match['path']} {problem}"
            continue
        if not is_compiled(source, root):
            yield before, f"no CMakeLists.txt compiles {match['path']}"
        if got != wanted:
            fixes.append((begin + 1, end, wanted))
            yield begin, f"this is not [{match['region']}] of {match['path']}; tools/check_docs.py --fix copies it"


def apply_fixes(page, fixes):
    lines = list(page.lines)
    for begin, end, wanted in sorted(fixes, reverse=True):
        lines[begin:end] = wanted
    page.path.write_text("\n".join(lines) + "\n", encoding="utf-8")


# --- Public names -----------------------------------------------------------------------------------------------------

FOR_LIBRARY = "pawl_for_the_library"
KEYWORDS = {"explicit", "inline", "constexpr", "static", "virtual", "friend", "const", "typename", "auto"}


def plain_code(text):
    """The source without comments, literals and preprocessor lines; the mark of what is not for users stays."""
    text = re.sub(r"//[^\n]*", lambda match: f" {FOR_LIBRARY}; " if match[0].startswith("// For the library") else " ",
                  text)
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)
    text = re.sub(r"'(?:\\.|[^'\\\n])'", "' '", text)
    text = re.sub(r"^\s*#(?:[^\n]*\\\n)*[^\n]*", " ", text, flags=re.M)
    return text


def matching(text, begin, pair):
    """The index behind what closes the bracket at `begin`."""
    depth = 0
    for index in range(begin, len(text)):
        if text[index] == pair[0]:
            depth += 1
        elif text[index] == pair[1]:
            depth -= 1
            if depth == 0:
                return index + 1
    return len(text)


def statements(text):
    """(head, body or None) of each declaration at the top level of `text`; access labels are heads of their own."""
    index = 0
    begin = 0
    while index < len(text):
        char = text[index]
        if char == "(":
            index = matching(text, index, "()")
        elif char == "[":
            index = matching(text, index, "[]")
        elif char == ";":
            yield text[begin:index].strip(), None
            index += 1
            begin = index
        elif char == ":" and re.search(r"(?:^|\s)(public|private|protected)\s*$", text[begin:index]):
            yield text[begin:index].strip(), None
            index += 1
            begin = index
        elif char == "{":
            end = matching(text, index, "{}")
            head = text[begin:index].strip()
            # An initialiser goes on to its semicolon; a body does not.
            is_initialiser = head.endswith("=") or (re.search(r"\w$", head) and "(" not in head and not re.search(
                r"\b(?:class|struct|enum|namespace)\b", head))
            if is_initialiser:
                index = end
                continue
            yield head, text[index + 1:end - 1]
            index = end
            begin = index
        else:
            index += 1


def without_prefixes(head):
    """A declaration without templates, constraints and attributes."""
    head = re.sub(r"\[\[.*?\]\]", " ", head, flags=re.S).strip()
    while head.startswith("template"):
        at = head.find("<")
        depth = 0
        for index in range(at, len(head)):
            depth += {"<": 1, ">": -1}.get(head[index], 0)
            if depth == 0:
                break
        head = head[index + 1:].strip()
        if head.startswith("requires"):
            rest = head[len("requires"):].strip()
            if rest.startswith("("):
                head = rest[matching(rest, 0, "()"):].strip()
            else:
                head = re.sub(r"^[\w:]+\s*(?:<[^<>]*(?:<[^<>]*>[^<>]*)*>)?", "", rest).strip()
    return head


def declared_name(head):
    """The name that a function or variable declaration introduces, or None."""
    if re.search(r"\boperator\b|^~|^friend\b|^static_assert\b|^requires\b", head):
        return None
    head = re.sub(r"^(?:explicit|inline|constexpr|static|virtual)\s+", "", head)
    flat = head  # What is in angle brackets is blank.
    while (inner := re.sub(r"<[^<>=]*>", lambda match: " " * (len(match[0]) - 1) + "_", flat)) != flat:
        flat = inner
    at = flat.find("(")
    equals = flat.find("=")
    if at >= 0 and (equals < 0 or at < equals):
        match = re.search(r"(?<!::)\b(\w+)\s*$", flat[:at])  # `Context::run(` is a definition.
        # `Type(…)` alone is a constructor.
        return match[1] if match and re.search(r"[\w&*]\s+[&*]?\s*\w+\s*$|[&*]\s*\w+\s*$", flat[:at]) else None
    match = re.search(r"(\w+)\s*(?:=.*|\{.*)?$", flat, flags=re.S)
    return match[1] if match and match[1] not in KEYWORDS else None


def names_in(text, scope, found):
    """Adds (class or '', name) of what `text` declares for users. `scope` is '' in a namespace, else the class."""
    is_public = True
    for head, body in statements(text):
        if head in ("public", "private", "protected"):
            is_public = head == "public"
            continue
        if head == FOR_LIBRARY:
            is_public = is_public and not scope
            continue
        if match := re.match(r"^(?:inline\s+)?namespace\s+([\w:]*)$", head):
            if "detail" not in match[1].split("::") and match[1] not in ("", "std"):
                names_in(body, "", found)
            continue
        if not is_public or not head:
            continue
        full = head
        head = without_prefixes(head)
        if match := re.match(r"^enum\s+(?:class\s+)?(\w+)", head):
            found.add(("", match[1]))
            for enumerator in re.findall(r"\b(k[A-Z]\w*)", re.sub(r"=[^,}]*", "", body or "")):
                found.add((match[1], enumerator))
        elif match := re.match(r"^(class|struct)\s+(\w+)(?P<rest>[^(]*)$", head, flags=re.S):
            # What is declared and not defined here is for users to specialise; what is specialised is no new name.
            if body is None or match["rest"].lstrip().startswith(("<", "::")):
                found |= {("", match[2])} if body is None and head != full else set()
            else:
                found.add(("", match[2]))
                inner = set()
                names_in(body if match[1] == "struct" else f"private: {body}", match[2], inner)
                found |= {(match[2], name) for owner, name in inner if owner == match[2]}
        elif match := re.match(r"^using\s+(\w+)\s*=", head):
            found.add((scope, match[1]))
        elif not head.startswith("using"):
            if (name := declared_name(head)) and name != scope:
                found.add((scope, name))


def public_names(root):
    found = set()
    for header in sorted((root / "include" / "pawl").rglob("*.hpp")):
        names_in(plain_code(header.read_text(encoding="utf-8")), "", found)
    return found


def exceptions(root):
    """Names of the classes that derive from pawl::Exception, and that one."""
    parents = {}
    for header in sorted((root / "include" / "pawl").glob("*.hpp")):
        text = plain_code(header.read_text(encoding="utf-8"))
        parents.update(re.findall(r"\bclass\s+(\w+)\s*:\s*public\s+([\w:]+)", text))
    found = {"Exception"} if "Exception" in parents else set()
    while more := {name for name, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def check_reference(root):
    """Complaints about names that the reference does not have."""
    files = sorted((root / "docs").glob("reference*.md")) + sorted((root / "docs" / "reference").glob("**/*.md"))
    names = public_names(root)
    if not files:
        if names:
            yield "docs/reference.md:1: there is no reference"
        return
    everywhere = set()
    by_class = {}
    for file in files:
        page = Page(file)
        open_sections = []  # (depth, classes)
        titles = {number: (depth, text) for number, depth, text in page.headings()}
        for number, line in enumerate(page.lines):
            if number in titles:
                depth, text = titles[number]
                open_sections = [each for each in open_sections if each[0] < depth]
                open_sections.append((depth, set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]*)`", text))))))
            code = line if page.is_code[number] else " ".join(match[2] for match in INLINE_CODE.finditer(line))
            words = set(re.findall(r"\w+", code))
            everywhere |= words
            for _, classes in open_sections:
                for name in classes:
                    by_class.setdefault(name, set()).update(words)
    where = files[0].relative_to(root)
    for owner, name in sorted(names):
        if not owner and name not in everywhere:
            yield f"{where}:1: `{name}` is not in the reference"
        elif owner and name not in by_class.get(owner, set()):
            yield f"{where}:1: `{owner}::{name}` is not in the reference, in a section whose heading has `{owner}`"


# --- Error codes ------------------------------------------------------------------------------------------------------

def check_errors(root):
    """Complaints about codes without a page, and pages without a code."""
    pages = root / "docs" / "errors"
    wanted = set()
    for folder in ("src", "include"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SOURCES and not path.stem.endswith("_test"):
                wanted |= set(CODE.findall(path.read_text(encoding="utf-8")))
    wanted -= UNREACHABLE_CODES
    wanted |= exceptions(root)
    index = pages / "README.md"
    text = index.read_text(encoding="utf-8") if index.exists() else ""
    for name in sorted(wanted):
        page = pages / f"{name}.md"
        if not page.exists():
            yield f"docs/errors/{name}.md:1: there is no page about {name}"
        elif name not in page.read_text(encoding="utf-8").split("\n", 1)[0]:
            yield f"docs/errors/{name}.md:1: the first line does not name {name}"
        if f"({name}.md" not in text:
            yield f"docs/errors/README.md:1: no link to {name}.md"
    for page in sorted(pages.glob("*.md")):
        if page.stem != "README" and page.stem not in wanted:
            yield f"docs/errors/{page.name}:1: nothing in the source is called {page.stem}"
    codes = root / "src" / "base" / "error.h"
    if codes.exists():
        body = re.search(r"enum class ErrorCode[^{]*\{(.*?)\};", codes.read_text(encoding="utf-8"), flags=re.S)
        for name in re.findall(r"\b(k[A-Z]\w*)\s*=", re.sub(r"//[^\n]*", "", body[1]) if body else ""):
            if f"`{name}`" not in text:
                yield f"docs/errors/README.md:1: the error code `{name}` of src/base/error.h is not here"


# --- All of it --------------------------------------------------------------------------------------------------------

def check(root, fix=False):
    """Returns what is wrong below root, as lines of text."""
    pages = {path.resolve(): Page(path) for path in markdown_files(root)}
    found = []
    for page in pages.values():
        name = page.path.relative_to(root)
        fixes = []
        for number, message in [*check_links(page, root, pages), *check_blocks(page, root, fixes)]:
            found.append(f"{name}:{number + 1}: {message}")
        if fix and fixes:
            apply_fixes(page, fixes)
    if fix:
        return check(root)
    return found + list(check_reference(root)) + list(check_errors(root))


# --- Self-test --------------------------------------------------------------------------------------------------------

GOOD = {
    "README.md": "# Shop\n\n<!-- compiled by: examples/CMakeLists.txt -->\n```cpp\nint main() {}\n```\n"
                 "[guide](docs/guide.md#a-first-look), [code](src/a.cc), [folder](docs), [web](https://example.org)\n",
    "docs/guide.md": "# Guide\n\n## A `first` look\n\n<!-- from: examples/a.cc [one] -->\n```cpp\nint one() {\n  return 1;\n}\n"
                     "```\n\n```cpp wrong\nint two(;\n```\n\n`[not a](link)`\n\n```text\n[nor](this)\n```\n",
    "docs/reference.md": "# Reference\n\n## `Context`\n\n`run()`, `value`\n\n### More\n\n```cpp fragment\nint get() const;\n"
                         "```\n\n## `Mode`\n\n`kFast`\n\nfree: `all`, `Millis`, `Codec`, `Exception`, `Broken`\n"
                         "\n## `Options`\n\n`size`, `names`, `on_error`\n",
    "docs/errors/README.md": "# Errors\n\n[a](PAWL-1001.md) [b](Broken.md) [c](Exception.md) `kBad`\n",
    "docs/errors/PAWL-1001.md": "# PAWL-1001: wrong\n",
    "docs/errors/Broken.md": "# Broken\n",
    "docs/errors/Exception.md": "# Exception\n",
    "examples/CMakeLists.txt": "file(READ README.md readme)\nadd_executable(a a.cc)\n",
    "examples/a.cc": "namespace {\n  // [one]\n  int one() {\n    // [inner]\n    return 1;\n    // [/inner]\n  }\n  // [/one]\n}\n",
    "src/a.cc": 'const char* code() { return "PAWL-1001"; }\nconst char* none() { return "PAWL-1000"; }\n',
    "src/base/error.h": "enum class ErrorCode : int {\n  kBad = 1,  // kComment = 3\n};\n",
    "include/pawl/a.hpp": """
#define PAWL_MACRO(x) x
namespace pawl {
using Millis = int;
class Context;
template <class T>
struct Codec;
template <class T>
  requires detail::Convertible<T>
struct Codec<T> { static int encode(const T& value); };
class Exception : public std::runtime_error {};
class Broken : public Exception { public: using Exception::Exception; };
enum class Mode : char { kFast = 1 };
struct Options {
  int size = 3;  // "text"; kNothing
  std::vector<std::string> names = {};
  std::function<void(int)> on_error = {};
};
namespace detail { struct Hidden { int hidden; }; }
class Context {
 public:
  Context() = default;
  explicit Context(int value);
  ~Context();
  template <class F, class... Args>
    requires(!std::is_same_v<F, int>)
  auto run(F&& function, Args&&... args) const { int local = 0; return local; }
  int get() const;
  bool operator==(const Context&) const;
  int value = 0;
  // For the library.
  int secret() const;
 private:
  int hidden_ = 0;
};
template <class... Ts>
  requires(sizeof...(Ts) > 0)
auto all(const Future<Ts>&... futures) {
  return detail::All<Ts...>(futures...);
}
}  // namespace pawl
template <class T>
struct std::coroutine_traits<pawl::Workflow<T>> { using promise_type = int; };
""",
}

GOOD_NAMES = {"Millis", "Codec", "Exception", "Broken", "Mode", "Mode::kFast", "Options", "Options::size",
              "Options::names", "Options::on_error", "Context", "Context::run", "Context::get", "Context::value", "all"}

# What is put in the place of a good file, and what must be said then.
BAD = [
    ({"docs/guide.md": "# Guide\n\n[x](missing.md)\n[y](#nothing)\n[z](guide.md#guide)\n[o](../../out.md)\n"},
     ["README.md:7: the link 'docs/guide.md#a-first-look': no heading of docs/guide.md has this anchor",
      "docs/guide.md:3: the link 'missing.md' leads nowhere",
      "docs/guide.md:4: the link '#nothing': no heading of docs/guide.md has this anchor",
      "docs/guide.md:6: the link '../../out.md' leads nowhere"]),
    ({"docs/more.md": "```cpp\nint x;\n```\n"},
     ["docs/more.md:1: say where this code comes from: <!-- from: PATH [REGION] -->, or that it is ```cpp wrong or "
      "```cpp fragment"]),
    ({"docs/more.md": "```cpp good\nint x;\n```\n\n```cpp wrong\nint x\n"},
     ["docs/more.md:1: unknown sort of block 'cpp good'; there are cpp, cpp wrong and cpp fragment",
      "docs/more.md:5: this code block has no end"]),
    ({"docs/more.md": "<!-- from: examples/a.cc [two] -->\n```cpp\nx\n```\n<!-- from: examples/b.cc [one] -->\n```cpp\nx\n```\n"
                      "<!-- from: examples/a.cc [inner] -->\n```cpp\nreturn 2;\n```\n"},
     ["docs/more.md:1: examples/a.cc has no region [two] that begins and ends once",
      "docs/more.md:5: there is no examples/b.cc",
      "docs/more.md:10: this is not [inner] of examples/a.cc; tools/check_docs.py --fix copies it"]),
    ({"examples/CMakeLists.txt": "add_executable(a aa.cc)\n"},
     ["README.md:3: examples/CMakeLists.txt does not read this page",
      "docs/guide.md:5: no CMakeLists.txt compiles examples/a.cc"]),
    ({"docs/reference.md": "# Reference\n\n## `Context`\n\n`run`, value, `get`\n\n## `Options`\n\n`size`, `names`, `on_error`, `kFast`\n\n"
                           "`Mode`, `all`, `Exception`, `Broken`, `Codec`\n"},
     ["docs/reference.md:1: `Millis` is not in the reference",
      "docs/reference.md:1: `Context::value` is not in the reference, in a section whose heading has `Context`",
      "docs/reference.md:1: `Mode::kFast` is not in the reference, in a section whose heading has `Mode`"]),
    ({"docs/errors/README.md": "# Errors\n\n[a](PAWL-1001.md) [c](Exception.md)\n", "docs/errors/PAWL-1001.md": "# Wrong\n",
      "docs/errors/PAWL-1002.md": "# PAWL-1002\n", "docs/errors/Broken.md": None},
     ["docs/errors/Broken.md:1: there is no page about Broken",
      "docs/errors/README.md:1: no link to Broken.md",
      "docs/errors/PAWL-1001.md:1: the first line does not name PAWL-1001",
      "docs/errors/PAWL-1002.md:1: nothing in the source is called PAWL-1002",
      "docs/errors/README.md:1: the error code `kBad` of src/base/error.h is not here"]),
]


def check_made_up(files, fix=False):
    """What is wrong with a tree of these files, and the tree afterwards."""
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch).resolve()
        for name, text in files.items():
            if text is not None:
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
        found = check(root, fix)
        return found, {name: (root / name).read_text(encoding="utf-8") for name, text in files.items() if text is not None}


def self_test():
    """Checks made-up trees with known mistakes."""
    trouble = [f"false alarm: {line}" for line in check_made_up(GOOD)[0]]
    names = set()
    names_in(plain_code(GOOD["include/pawl/a.hpp"]), "", names)
    got = {f"{owner}::{name}" if owner else name for owner, name in names}
    trouble += [f"a name that was not seen, or is none: {name}" for name in sorted(got ^ GOOD_NAMES)]
    for change, want in BAD:
        got = check_made_up({**GOOD, **change})[0]
        trouble += [f"not caught: {line}" for line in want if line not in got]
        trouble += [f"false alarm: {line}" for line in got if line not in want]
    stale = {**GOOD, "docs/guide.md": GOOD["docs/guide.md"].replace("  return 1;\n", "  return 2;\n  // old\n")}
    found, after = check_made_up(stale, fix=True)
    trouble += [f"not fixed: {line}" for line in found]
    if after["docs/guide.md"] != GOOD["docs/guide.md"]:
        trouble.append(f"fixed to something else: {after['docs/guide.md']}")
    silent = "```cpp\nint one() {\n  return 1;\n}\n```\n"
    found, after = check_made_up({**GOOD, "examples/README.md": silent}, fix=True)
    if found or after["examples/README.md"] != "<!-- from: examples/a.cc [one] -->\n" + silent:
        trouble.append(f"the comment was not added: {found} {after['examples/README.md']}")
    header = {**GOOD, "examples/b.hpp": "// [two]\nint two();\n// [/two]\n",
              "docs/more.md": "<!-- from: examples/b.hpp [two] -->\n```cpp\nint two();\n```\n"}
    trouble += ["a header that nobody includes was taken for compiled"] if not check_made_up(header)[0] else []
    lists = GOOD["examples/CMakeLists.txt"].replace("a.cc", "${name}.cc")
    trouble += [f"false alarm: {line}" for line in check_made_up({**GOOD, "examples/CMakeLists.txt": lists})[0]]
    included = {**header, "examples/a.cc": '#include "b.hpp"\n' + GOOD["examples/a.cc"]}
    trouble += [f"false alarm: {line}" for line in check_made_up(included)[0]]
    for line in trouble:
        print(line)
    return 1 if trouble else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fix", action="store_true", help="make the C++ blocks equal to the regions they come from")
    parser.add_argument("--names", action="store_true", help="print the public names that the reference must have")
    parser.add_argument("--self-test", action="store_true", help="check that mistakes are caught")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    if arguments.names:
        for owner, name in sorted(public_names(ROOT)):
            print(f"{owner}::{name}" if owner else name)
        return 0
    found = check(ROOT, arguments.fix)
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
