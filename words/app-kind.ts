/** Who asks, as far as a sentence depends on it: the argument `who` of a message (a choice of ICU). */

/** The name under which the keyturn command asks; any program of the user's can. */
export const commandName = 'cli';

export type AppKind = 'command' | 'app';

/** By the name that a question, a list or a row gives. */
export const appKind = (name: string): AppKind => (name === commandName ? 'command' : 'app');
