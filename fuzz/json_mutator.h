// Mutations that keep a JSON text well formed, for harnesses whose input is JSON: bytes flipped at
// random would hardly ever get past the parser.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <boost/json/fwd.hpp>

namespace pawl::fuzz {

// For LLVMFuzzerCustomMutator: changes `data`, of which `size` of `size_max` bytes are used, and
// returns the new size. `snippets` are JSON texts worth inserting into lists.
std::size_t mutate_json(std::uint8_t* data, std::size_t size, std::size_t size_max, unsigned seed,
                        std::span<const std::string_view> snippets);

// True if it holds a number, or a text with a run of digits, next to a limit of the format: there,
// a log has no next seq, time or location. What a run adds to such a log is refused when it is
// loaded again, by the rules for numbers: nothing counts so far, and no clock shows such a time.
bool has_huge_number(const boost::json::value& value);

}  // namespace pawl::fuzz
