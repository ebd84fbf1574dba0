// Loaded first by Node for Windows under Wine.

// Wine 8 lacks the socket option that keeps a TCP connection alive: with it, every connection of undici fails.
require('node:net').Socket.prototype.setKeepAlive = function () {
  return this;
};

// The clone has koffi's native part for this machine beside koffi. The one for Windows is where koffi looks in a
// packaged app.
process.resourcesPath = process.env.KEYTURN_TEST_RESOURCES;
