// The program around the workflow; the same in all versions.
//
//   orders_v1 STORE work               works on orders until it is stopped
//   orders_v1 STORE start ID ITEM
//   orders_v1 STORE signal ID NAME     "paid" or "delivered"
//   orders_v1 STORE status ID
//
// `deploy` plays three deploys with it.
#include <csignal>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include <pawl/pawl.hpp>

#include "fulfil.hpp"

int work(const std::string& store, const pawl::Registry& registry) {
  // Before the engine starts its threads, so that only sigwait() gets this signal.
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  const pawl::Engine engine(store, registry);
  int signal = 0;
  sigwait(&stop, &signal);
  return 0;
}

int status(const std::string& store, const std::string& id) {
  pawl::Engine client(store, pawl::Registry(), {.work = false});
  const auto run = client.get<std::string>(id);
  const pawl::Description about = run.describe();
  std::cout << pawl::to_string(about.status);
  if (about.status == pawl::Status::kCompleted) {
    std::cout << ": " << run.result();
  } else if (about.status == pawl::Status::kBlocked) {
    std::cout << ": " << about.reason;
  } else if (!about.waiting_for.empty()) {
    std::cout << " for " << about.waiting_for;
  }
  std::cout << std::endl;
  return 0;
}

int run(const std::vector<std::string>& arguments, const pawl::Registry& registry) {
  const std::size_t count = arguments.size();
  const std::string command = count > 1 ? arguments[1] : "";
  if (command == "work" && count == 2) {
    return work(arguments[0], registry);
  }
  if (command == "status" && count == 3) {
    return status(arguments[0], arguments[2]);
  }
  if ((command == "start" || command == "signal") && count == 4) {
    pawl::Engine client(arguments[0], pawl::Registry(), {.work = false});
    if (command == "start") {
      client.start("fulfil", arguments[2], Order{arguments[3]});
    } else {
      client.get(arguments[2]).signal(arguments[3]);
    }
    return 0;
  }
  std::cerr << "usage: orders_v1 STORE work | start ID ITEM | signal ID NAME | status ID\n";
  return 2;
}

int main(int argc, char** argv) {
  try {
    // [registry]
    pawl::Registry registry;
    registry.workflow("fulfil", fulfil, {.fingerprint = fingerprint()});
    pawl::answer_check(registry);  // Ends the process if `pawl check` has started it.
    // [/registry]
    return run(std::vector<std::string>(argv + 1, argv + argc), registry);
  } catch (const std::exception& error) {
    std::cerr << argv[0] << ": " << error.what() << '\n';
    return 1;
  }
}
