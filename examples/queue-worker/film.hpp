// What studio and renderer agree on: the input of the task "render". Its result is the number of
// frames.
#pragma once

#include <string>

#include <pawl/pawl.hpp>

struct Scene {
  std::string title;
  int frames = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Scene, title, frames)
