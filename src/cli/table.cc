#include "cli/table.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <utility>

#include "base/utf8.h"
#include "view/text.h"

namespace pawl::cli {

namespace {

// Of what is no terminal: whoever wants all of it asks for JSON.
constexpr std::size_t kCellColumnsMax = 200;
constexpr std::size_t kCellColumnsMin = 8;

using Range = std::pair<std::uint32_t, std::uint32_t>;
constexpr std::array<Range, 9> kWide = {{{0x1100, 0x115f},
                                         {0x2e80, 0x303e},
                                         {0x3041, 0xa4cf},
                                         {0xac00, 0xd7a3},
                                         {0xf900, 0xfaff},
                                         {0xfe30, 0xfe6f},
                                         {0xff00, 0xff60},
                                         {0x1f300, 0x1faff},
                                         {0x20000, 0x3fffd}}};
constexpr std::array<Range, 6> kNarrow = {{{0x0300, 0x036f},
                                           {0x200b, 0x200f},
                                           {0x202a, 0x202e},
                                           {0x2060, 0x2064},
                                           {0x20d0, 0x20ff},
                                           {0xfe00, 0xfe0f}}};

template <std::size_t N>
bool is_in(const std::array<Range, N>& ranges, std::uint32_t code) {
  return std::any_of(ranges.begin(), ranges.end(), [code](const Range& range) {
    return code >= range.first && code <= range.second;
  });
}

// Of one character that is UTF-8.
std::size_t character_width(std::string_view bytes) {
  const auto first = static_cast<unsigned char>(bytes[0]);
  std::uint32_t code = bytes.size() == 1   ? first
                       : bytes.size() == 2 ? first & 0x1fU
                       : bytes.size() == 3 ? first & 0x0fU
                                           : first & 0x07U;
  for (const char byte : bytes.substr(1)) {
    code = (code << 6U) | (static_cast<unsigned char>(byte) & 0x3fU);
  }
  return is_in(kNarrow, code) ? 0 : is_in(kWide, code) ? 2 : 1;
}

}  // namespace

std::size_t display_width(std::string_view utf8) {
  std::size_t width = 0;
  while (!utf8.empty()) {
    const std::size_t length = std::max<std::size_t>(utf8_length(utf8), 1);
    width += character_width(utf8.substr(0, length));
    utf8.remove_prefix(length);
  }
  return width;
}

std::string fitted(std::string_view text, std::size_t columns) {
  // A character has at least one byte, and what is escaped gets longer only.
  const std::string line = view::line_text(text, columns + 1);
  if (display_width(line) <= columns) {
    return line;
  }
  std::string result;
  std::size_t width = 0;
  for (std::string_view rest = line; !rest.empty();) {
    const std::size_t length = std::max<std::size_t>(utf8_length(rest), 1);
    const std::size_t wide = character_width(rest.substr(0, length));
    if (width + wide + 1 > columns) {
      break;
    }
    width += wide;
    result += rest.substr(0, length);
    rest.remove_prefix(length);
  }
  return result + "…";
}

void Table::print(Console& console) const {
  const std::size_t columns = heads_.size();
  std::vector<std::size_t> widths(columns);
  for (std::size_t i = 0; i < columns; ++i) {
    widths[i] = display_width(heads_[i]);
    for (const std::vector<Cell>& row : rows_) {
      widths[i] = std::max(widths[i], display_width(fitted(row[i].text, kCellColumnsMax)));
    }
  }
  const std::size_t gaps = 2 * (columns - 1);
  const std::size_t room = console.width();
  while (room > 0 && std::accumulate(widths.begin(), widths.end(), gaps) > room) {
    const auto widest = std::max_element(widths.begin(), widths.end());
    if (*widest <= kCellColumnsMin) {
      break;
    }
    --*widest;
  }
  const auto print_row = [&](const auto& text_of, const auto& tone_of) {
    std::string line;
    for (std::size_t i = 0; i < columns; ++i) {
      const std::string text = fitted(text_of(i), widths[i]);
      line += console.toned(text, tone_of(i));
      if (i + 1 < columns) {
        line += std::string(widths[i] - std::min(widths[i], display_width(text)) + 2, ' ');
      }
    }
    line.erase(line.find_last_not_of(' ') + 1);
    console.print(line + "\n");
  };
  const bool has_heads =
      std::any_of(heads_.begin(), heads_.end(), [](const auto& head) { return !head.empty(); });
  if (has_heads) {
    print_row([&](std::size_t i) { return heads_[i]; }, [](std::size_t) { return Tone::kStrong; });
  }
  for (const std::vector<Cell>& row : rows_) {
    print_row([&](std::size_t i) { return row[i].text; },
              [&](std::size_t i) { return row[i].tone; });
  }
}

Tone status_tone(std::string_view status) {
  if (status == "completed") {
    return Tone::kGood;
  }
  if (status == "failed" || status == "blocked") {
    return Tone::kBad;
  }
  return status == "cancelled" || status == "compensating" ? Tone::kOdd : Tone::kPlain;
}

}  // namespace pawl::cli
