#include "replay/location.h"

#include <algorithm>
#include <utility>

namespace pawl::replay {

std::strong_ordering operator<=>(const Coordinate& a, const Coordinate& b) {
  if (a.head_ != b.head_) {
    return a.head_ <=> b.head_;
  }
  return std::lexicographical_compare_three_way(a.tail_.begin(), a.tail_.end(), b.tail_.begin(),
                                                b.tail_.end());
}

void Coordinate::print_to(std::string& out) const {
  out += std::to_string(head_);
  for (const Ordinate ordinate : tail_) {
    out += '.';
    out += std::to_string(ordinate);
  }
}

Coordinate insertion_between(const Coordinate& previous, const Coordinate& next) {
  PAWL_CHECK(previous < next);
  std::vector<Ordinate> tail = previous.tail();
  const bool is_prefix = [&] {
    for (std::size_t i = 0; i < previous.size(); ++i) {
      if (i >= next.size() || previous[i] != next[i]) {
        return false;
      }
    }
    return true;
  }();
  if (is_prefix) {
    // One zero more than `next` has after the prefix: below it, and above the prefix itself.
    tail.push_back(0);
    for (std::size_t i = previous.size(); i < next.size() && next[i] == 0; ++i) {
      tail.push_back(0);
    }
    tail.push_back(1);
  } else if (previous.size() <= next.size()) {
    tail.push_back(1);
  } else {
    ++tail.back();
  }
  return {previous.head(), std::move(tail)};
}

Result<Location> Location::parse(std::string_view text) {
  std::vector<Coordinate> coordinates;
  LocationReader reader(text);
  Coordinate coordinate(0);
  while (true) {
    PAWL_TRY_ASSIGN(const bool more, reader.next(coordinate));
    if (!more) {
      return Location(std::move(coordinates));
    }
    coordinates.push_back(coordinate);
  }
}

std::string Location::to_string() const {
  std::string out = "{";
  for (std::size_t i = 0; i < coordinates_.size(); ++i) {
    if (i > 0) {
      out += ", ";
    }
    coordinates_[i].print_to(out);
  }
  out += '}';
  return out;
}

void LocationReader::skip_blanks() {
  while (at_ < text_.size() && text_[at_] == ' ') {
    ++at_;
  }
}

Error LocationReader::malformed(std::string_view what) const {
  constexpr std::size_t kShownMax = 80;
  std::string shown(text_.substr(0, kShownMax));
  if (text_.size() > kShownMax) {
    shown += "…";
  }
  return make_error(ErrorCode::kMalformedInput, "malformed location '" + shown +
                                                    "': " + std::string(what) + " at character " +
                                                    std::to_string(at_ + 1));
}

Result<bool> LocationReader::next(Coordinate& coordinate) {
  if (state_ == State::kEnd) {
    return false;
  }
  if (state_ == State::kStart) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != '{') {
      return malformed("expected '{'");
    }
    ++at_;
    skip_blanks();
    if (at_ < text_.size() && text_[at_] == '}') {
      ++at_;
      skip_blanks();
      if (at_ != text_.size()) {
        return malformed("unexpected text after '}'");
      }
      state_ = State::kEnd;
      return false;
    }
    state_ = State::kInside;
  }
  skip_blanks();
  bool first = true;
  Ordinate head = 0;
  Ordinate last = 0;
  std::vector<Ordinate> tail;
  while (true) {
    if (at_ >= text_.size() || text_[at_] < '0' || text_[at_] > '9') {
      return malformed("expected a number");
    }
    const std::size_t start = at_;
    Ordinate value = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      const auto digit = static_cast<Ordinate>(text_[at_] - '0');
      if (value > (kOrdinateMax - digit) / 10) {
        return malformed("number too large");
      }
      value = value * 10 + digit;
      ++at_;
    }
    if (text_[start] == '0' && at_ - start > 1) {
      return malformed("number with a leading zero");
    }
    if (first) {
      head = value;
    } else {
      tail.push_back(value);
    }
    first = false;
    last = value;
    if (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      continue;
    }
    break;
  }
  if (last == 0) {
    return malformed("a coordinate cannot end in 0");
  }
  skip_blanks();
  if (at_ < text_.size() && text_[at_] == ',') {
    ++at_;
  } else if (at_ < text_.size() && text_[at_] == '}') {
    ++at_;
    skip_blanks();
    if (at_ != text_.size()) {
      return malformed("unexpected text after '}'");
    }
    state_ = State::kEnd;
  } else {
    return malformed("expected ',' or '}'");
  }
  coordinate = Coordinate(head, std::move(tail));
  return true;
}

}  // namespace pawl::replay
