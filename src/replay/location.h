// Locations: where in the code's structure a command stands, e.g. {2, 3, 1} or {4, 0.3.1, 0.6}.
// A location is a list of coordinates, a coordinate a non-empty list of ordinates. Both order
// lexicographically, a prefix before its extensions. Value types.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pawl::replay {

using Ordinate = std::uint64_t;

// Far beyond any program, and far enough from the end that "+ 1" needs no check.
inline constexpr Ordinate kOrdinateMax = Ordinate{1} << 62U;

class Coordinate {
 public:
  // The place before the first command of a branch. No command ever stands there.
  static Coordinate before_first() { return Coordinate(0); }

  explicit Coordinate(Ordinate head) : head_(head) {}
  Coordinate(Ordinate head, std::vector<Ordinate> tail) : head_(head), tail_(std::move(tail)) {}

  Ordinate head() const { return head_; }
  const std::vector<Ordinate>& tail() const { return tail_; }
  bool is_whole() const { return tail_.empty(); }

  std::size_t size() const { return 1 + tail_.size(); }
  Ordinate operator[](std::size_t i) const { return i == 0 ? head_ : tail_[i - 1]; }

  // Appends the printed form: ordinates joined by dots.
  void print_to(std::string& out) const;

  friend std::strong_ordering operator<=>(const Coordinate& a, const Coordinate& b);
  friend bool operator==(const Coordinate& a, const Coordinate& b) = default;

 private:
  Ordinate head_;
  std::vector<Ordinate> tail_;
};

// A coordinate strictly between `previous` and `next`, where previous < next and no command stands
// between them. Never one that exists.
Coordinate insertion_between(const Coordinate& previous, const Coordinate& next);

class Location {
 public:
  Location() = default;
  explicit Location(std::vector<Coordinate> coordinates) : coordinates_(std::move(coordinates)) {}

  // Reads the printed form; blanks around coordinates are allowed. kMalformedInput says what is
  // wrong.
  static Result<Location> parse(std::string_view text);
  std::string to_string() const;

  bool is_root() const { return coordinates_.empty(); }
  std::size_t depth() const { return coordinates_.size(); }
  const Coordinate& operator[](std::size_t i) const { return coordinates_[i]; }
  const std::vector<Coordinate>& coordinates() const { return coordinates_; }

  friend std::strong_ordering operator<=>(const Location& a, const Location& b) = default;
  friend bool operator==(const Location& a, const Location& b) = default;

 private:
  std::vector<Coordinate> coordinates_;
};

// Reads one coordinate of a printed location at a time, without building the whole.
class LocationReader {
 public:
  explicit LocationReader(std::string_view text) : text_(text) {}
  // Goes on in `text` at a coordinate that starts at `at`.
  LocationReader(std::string_view text, std::size_t at)
      : text_(text), at_(at), state_(State::kInside) {}

  // True and `coordinate` set: one more; false: the end. An error names the text.
  Result<bool> next(Coordinate& coordinate);

 private:
  Error malformed(std::string_view what) const;
  void skip_blanks();

  enum class State { kStart, kInside, kEnd };

  std::string_view text_;
  std::size_t at_ = 0;
  State state_ = State::kStart;
};

}  // namespace pawl::replay
