// CuttingProxy: between a client and a server on this machine; cuts the connection when the client
// has sent certain bytes. A thread of its own; thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

namespace pawl::testing {

class CuttingProxy {
 public:
  explicit CuttingProxy(std::uint16_t server_port);
  ~CuttingProxy();
  CuttingProxy(const CuttingProxy&) = delete;
  CuttingProxy& operator=(const CuttingProxy&) = delete;

  std::uint16_t port() const { return port_; }

  enum class Cut : std::uint8_t {
    kNever,
    kBefore,  // The server does not get what has the bytes in it.
    kAnswer,  // It gets it, and its answer is thrown away.
  };
  // Before the client sends them. Holds for connections that exist and for new ones.
  void cut_at(Cut how, std::string bytes) {
    bytes_ = std::move(bytes);
    how_ = how;
  }

 private:
  void run();
  void serve(int client);

  const std::uint16_t server_port_;
  std::uint16_t port_ = 0;
  int listener_ = -1;
  int stop_ = -1;
  std::string bytes_;
  std::atomic<Cut> how_ = Cut::kNever;
  std::thread thread_;
};

}  // namespace pawl::testing
