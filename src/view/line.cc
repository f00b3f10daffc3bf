#include "view/line.h"

#include <algorithm>

#include "view/text.h"

namespace pawl::view {

namespace {

constexpr std::size_t kValueColumnsMin = 12;

}  // namespace

Line& Line::add(std::string_view text, Tone tone) {
  if (!text.empty()) {
    pieces_.push_back({std::string(text), tone, false});
  }
  return *this;
}

Line& Line::add_value(std::string_view text, Tone tone) {
  pieces_.push_back({std::string(text), tone, true});
  return *this;
}

Line& Line::add_right(std::string_view text, std::size_t columns, Tone tone) {
  const std::size_t taken = std::min(columns - 1, columns_of(text));
  return add(std::string(columns - taken, ' ')).add(text, tone);
}

Line& Line::append(const Line& other) {
  pieces_.insert(pieces_.end(), other.pieces_.begin(), other.pieces_.end());
  return *this;
}

std::string Line::print(std::size_t columns_max, bool in_color) const {
  std::size_t excess = 0;
  if (columns_max > 0) {
    std::size_t columns = 0;
    for (const Piece& piece : pieces_) {
      columns += columns_of(piece.text);
    }
    excess = columns - std::min(columns, columns_max);
  }
  // What comes last gives way first.
  std::vector<std::size_t> room(excess > 0 ? pieces_.size() : 0);
  for (std::size_t i = room.size(); i-- > 0;) {
    const std::size_t columns = columns_of(pieces_[i].text);
    const std::size_t least = pieces_[i].gives_way ? std::min(columns, kValueColumnsMin) : columns;
    const std::size_t cut = std::min(excess, columns - least);
    room[i] = columns - cut;
    excess -= cut;
  }
  std::string out;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const Piece& piece = pieces_[i];
    paint_to(out, room.empty() ? piece.text : cut_to_columns(piece.text, room[i]), piece.tone,
             in_color);
  }
  return out;
}

}  // namespace pawl::view
