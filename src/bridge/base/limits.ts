/** The bounds of the bridge. Docs: docs/reference/cli.md, `keyturn bridge`. */

/** Bytes of one message, either way. A larger one is refused, and the bridge goes on. */
export const maxMessage = 64 * 1024 * 1024;

/** Requests under way at a time: each holds a connection. */
export const maxRequests = 1024;

/** Bytes of requests under way beyond which the bridge reads slower, so that the client waits. */
export const slowBytes = 64 * 1024 * 1024;

/**
 * Bytes of answers that the client has not taken, beyond which the bridge reads nothing more of it. More than that is a
 * client that writes and never reads.
 */
export const heldBytes = 16 * 1024 * 1024;

/** Milliseconds between two pieces that are read while the bridge reads slowly. It still sees the end of its input. */
export const slowPiece = 250;

/** Milliseconds between two looks at the parent: the bridge ends within a second of it. */
export const parentLook = 400;

/**
 * Milliseconds that requests under way have after the end of the input, for a script that pipes its requests in: the SDK's
 * clients give up a request after so long. A client that ends is looked for meanwhile, and one that closes the pipe waits
 * 2 s before it sends a signal.
 */
export const lastAnswers = 60_000;

/** Milliseconds that the last words to the server may take after the client is gone. */
export const lastWords = 500;

/**
 * Questions of the server that wait for the client's answers, and characters of the id of each. Further ones are
 * refused; so many refusals are under way at most, and what comes beside them gets no answer.
 */
export const maxQuestions = 256;
export const maxQuestionId = 256;
export const maxQuestionRefusals = 32;

/** How often a server's answer to one request may ask something: the SDK's client has the same bound. */
export const maxRounds = 10;

/** Requests of a stateless client that wait for its answers to a stateful server, and for how many milliseconds. */
export const maxParked = 64;
export const parkedFor = 600_000;

/** Milliseconds until a server of the older transport must have named the URL that messages go to. */
export const connectTime = 10_000;

/** Seconds that the broker waits for the user: the SDK's clients give up a request after 60. */
export const userWait = 45;

/** Milliseconds after which the user hears that a request waits. Refreshes are faster. */
export const slowAnswer = 5000;

/** Milliseconds for a new session after the first. Longer than `userWait`: its token may wait for the user too. */
export const renewal = 50_000;

/** Subscriptions that are made again in a new session, and characters of the URI of each. */
export const maxSubscriptions = 1024;
export const maxUri = 2048;

/**
 * Of the tools that a stateless server lists: pages that the bridge itself asks for, tools with headers that it
 * remembers, and how deep it looks into a schema.
 */
export const maxListPages = 100;
export const maxToolsWithHeaders = 4096;
export const maxSchemaDepth = 64;
