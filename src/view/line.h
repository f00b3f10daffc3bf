// Line: one line for people, put together piece by piece, then fitted to the width of the screen
// and painted. Value type.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "view/paint.h"

namespace pawl::view {

class Line {
 public:
  // The text holds no control characters; see line_text().
  Line& add(std::string_view text, Tone tone = Tone::kPlain);
  // A value, which gives way if the line is too long: it is cut, though never to less than a few
  // characters.
  Line& add_value(std::string_view text, Tone tone = Tone::kPlain);
  // At the right end of this many columns, of which one at least stays blank before it.
  Line& add_right(std::string_view text, std::size_t columns, Tone tone = Tone::kPlain);
  Line& append(const Line& other);

  bool empty() const { return pieces_.empty(); }
  // Without a line break. `columns_max` 0: as long as it is.
  std::string print(std::size_t columns_max, bool in_color) const;

 private:
  struct Piece {
    std::string text;
    Tone tone;
    bool gives_way;
  };
  std::vector<Piece> pieces_;
};

}  // namespace pawl::view
