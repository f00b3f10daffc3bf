// consumer FILE: runs a workflow on the database FILE; prints its result and the fingerprint.
#include <iostream>

#include "order.hpp"

int main(int argc, char** argv) {
  if (argc != 2) {
    return 2;
  }
  pawl::Registry registry;
  register_all(registry);
  pawl::Engine engine(std::string("sqlite:") + argv[1], registry);
  std::cout << engine.start(order, "order-17", Order{17}).result() << "\n" << fingerprint() << "\n";
}
