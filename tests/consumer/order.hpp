#pragma once

#include <string>

#include <pawl/pawl.hpp>

struct Order {
  int id = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, id)

pawl::Workflow<std::string> order(pawl::Context ctx, Order in);
std::string fingerprint();
void register_all(pawl::Registry& registry);
