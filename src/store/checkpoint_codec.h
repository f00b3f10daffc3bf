// A loop's checkpoint as bytes, as it is stored. The form begins with a number, so that it can
// change: what was written once can always be read.
#pragma once

#include <string>
#include <string_view>

#include "replay/entry.h"

namespace pawl::store {

std::string encode_checkpoint(const replay::Checkpoint& checkpoint);
// False: not what encode_checkpoint() makes.
bool decode_checkpoint(std::string_view bytes, replay::Checkpoint& checkpoint);

}  // namespace pawl::store
