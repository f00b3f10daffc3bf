// Serves: what a worker can do, as it tells others (WorkerInfo::serves): a JSON object. Pure
// functions.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace pawl::engine {

struct Serves {
  bool is_known = false;                                   // False: it has told nothing.
  std::vector<std::pair<std::string, std::string>> kinds;  // With fingerprints.
  std::vector<std::string> activities;
  std::vector<std::string> queues;
};

std::string write_serves(const Serves& serves);
// What cannot be read has told nothing.
Serves read_serves(const std::string& text);

}  // namespace pawl::engine
