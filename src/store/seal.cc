#include "store/seal.h"

#include <array>
#include <cstddef>

namespace pawl::store {

namespace {

constexpr std::array<std::string_view, 3> kNames = {"moving", "moved", "filling"};

// Up to the next blank, which is taken away, too.
std::string_view next_word(std::string_view& text) {
  const std::size_t blank = text.find(' ');
  const std::string_view word = text.substr(0, blank);
  text.remove_prefix(blank == std::string_view::npos ? text.size() : blank + 1);
  return word;
}

}  // namespace

std::string seal_text(const Seal& seal) {
  return std::string(kNames.at(static_cast<std::size_t>(seal.kind))) + " " + seal.move + " " +
         (seal.holder.empty() ? "-" : seal.holder) + " " + seal.other;
}

std::optional<Seal> parse_seal(std::string_view text) {
  const std::string_view name = next_word(text);
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (name == kNames.at(i)) {
      Seal seal;
      seal.kind = static_cast<Seal::Kind>(i);
      seal.move = next_word(text);
      const std::string_view holder = next_word(text);
      seal.holder = holder == "-" ? "" : holder;
      seal.other = text;
      return seal;
    }
  }
  return std::nullopt;
}

std::string seal_sentence(std::string_view text) {
  const std::optional<Seal> seal = parse_seal(text);
  if (!seal.has_value()) {
    return "the namespace is closed by a newer Pawl, which says '" + std::string(text) +
           "'; use that";
  }
  switch (seal->kind) {
    case Seal::Kind::kMoving:
      return "the runs of this namespace are being moved to '" + seal->other +
             "'; call `pawl migrate` again if it was interrupted, or `pawl migrate --reopen` with "
             "this store if they are to stay here";
    case Seal::Kind::kMoved:
      return "the runs of this namespace have moved to '" + seal->other +
             "' and go on there; open that store";
    case Seal::Kind::kFilling:
      return "this namespace is being filled with the runs of '" + seal->other +
             "'; wait until `pawl migrate` is done, or call it again if it was interrupted";
  }
  return "";
}

}  // namespace pawl::store
