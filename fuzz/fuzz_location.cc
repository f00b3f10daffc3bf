// Any text as a location, or two of them on two lines: printing and parsing agree, the order is an
// order, and between two places of a branch there is always another one.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/require.h"
#include "replay/location.h"

namespace {

using pawl::Result;
using pawl::fuzz::require;
using pawl::replay::Coordinate;
using pawl::replay::insertion_between;
using pawl::replay::kOrdinateMax;
using pawl::replay::Location;

Location reparsed(const Location& location) {
  const std::string text = location.to_string();
  const Result<Location> again = Location::parse(text);
  require(again.has_value(), "a printed location parses", text);
  require(*again == location, "print and parse give the same location", text);
  require(again->to_string() == text, "parse and print give the same text", text);
  return *again;
}

// There is no place after the last number that the format has.
bool has_successor(const Coordinate& coordinate) {
  return coordinate[coordinate.size() - 1] < kOrdinateMax;
}

void check_insertions(const Coordinate& a, const Coordinate& b) {
  constexpr int kTimes = 3;
  Coordinate previous = a;
  Coordinate next = b;
  for (int i = 0; i < kTimes && has_successor(previous); ++i) {
    const Coordinate between = insertion_between(previous, next);
    const Location place({between});
    const std::string details = Location({previous}).to_string() + " " + place.to_string() + " " +
                                Location({next}).to_string();
    require(previous < between && between < next, "an insertion lies between", details);
    require(!between.is_whole(), "an insertion is no whole number", details);
    reparsed(place);
    // Before it and after it there must be room as well.
    (i % 2 == 0 ? previous : next) = between;
  }
}

void check_pair(const Location& a, const Location& b) {
  const auto order = a <=> b;
  require(order == (reparsed(a) <=> reparsed(b)), "the order survives printing",
          a.to_string() + " " + b.to_string());
  require((order == 0) == (a == b), "order and equality agree", a.to_string() + b.to_string());
  require((b <=> a) == (order < 0   ? std::strong_ordering::greater
                        : order > 0 ? std::strong_ordering::less
                                    : std::strong_ordering::equal),
          "the order is antisymmetric", a.to_string() + " " + b.to_string());
  for (std::size_t i = 0; i < a.depth() && i < b.depth(); ++i) {
    if (a[i] < b[i]) {
      check_insertions(a[i], b[i]);
    } else if (b[i] < a[i]) {
      check_insertions(b[i], a[i]);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t newline = input.find('\n');
  const Result<Location> first = Location::parse(input.substr(0, newline));
  if (!first) {
    require(!first.error().message.empty(), "an error says what is wrong");
    return 0;
  }
  reparsed(*first);
  check_pair(*first, *first);
  for (const Coordinate& coordinate : first->coordinates()) {
    check_insertions(Coordinate::before_first(), coordinate);
  }
  if (newline != std::string_view::npos) {
    if (const Result<Location> second = Location::parse(input.substr(newline + 1))) {
      check_pair(*first, *second);
    }
  }
  return 0;
}
