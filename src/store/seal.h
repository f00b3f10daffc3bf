// Seal: why nobody may work on a namespace: it moves to another store, has moved there, or is being
// filled from one. Kept with the namespace as a text. Value type, pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::store {

struct Seal {
  enum class Kind : std::uint8_t { kMoving, kMoved, kFilling };

  Kind kind{};
  std::string move;    // The same on both sides of a move, and on no others.
  std::string holder;  // kFilling: who may fill it now.
  std::string other;   // The other side, for people; without a password.

  friend bool operator==(const Seal&, const Seal&) = default;
};

std::string seal_text(const Seal& seal);
// None: the text is empty, or not to be understood.
std::optional<Seal> parse_seal(std::string_view text);
// Why somebody who wants to work on the namespace may not; what to do. Also of what this version
// does not understand; not of the empty text.
std::string seal_sentence(std::string_view text);

}  // namespace pawl::store
