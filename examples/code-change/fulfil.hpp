// What the versions of the program have in common: an order, its activities, and the name of the
// workflow. fulfil_v1.cc, fulfil_v2.cc … define it.
#pragma once

#include <iostream>
#include <string>

#include <pawl/pawl.hpp>

struct Order {
  std::string item;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, item)

// Its own id and what it does, on standard output.
inline void act(pawl::Activity& activity, const std::string& item) {
  std::cout << activity.run_id() << ": " << activity.name() << " " << item << std::endl;
}

pawl::Workflow<std::string> fulfil(pawl::Context ctx, Order order);
std::string fingerprint();
