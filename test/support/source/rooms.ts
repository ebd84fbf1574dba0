/**
 * The rooms of the house: every folder with source files, from the ground up, and why it stands where it stands.
 *
 * Invariant: a file imports from its own room and from those before it. So no two rooms need each other, and a reader who
 * goes down the list meets nothing that wasn't explained.
 */
import { importCycles, type Tree } from './imports.ts';

export const rooms: Readonly<Record<string, string>> = {
  'src/base/text': 'text and URLs from outside are the same for all',
  'src/base': 'all the others stand on it',
  'src/base/system': 'the machine, for all processes of ours',
  'src/base/windows': 'the same for the system that has other means',
  'src/oauth/base': 'each request and each document keeps to these bounds',
  'src/oauth/discovery': 'what a server says of itself doesn’t depend on who asks',
  'src/oauth/client': 'a registration is made by what the server said of itself',
  'src/oauth/grants': 'a token is asked for as a client, of a server that was found',
  'src/server/resource/base': 'a request and an answer in the form of no framework',
  'src/server/resource/requests': 'what a request says can be read without a token',
  'src/server/resource/tokens': 'a token is checked for a request that was read',
  'src/server/resource': 'puts the checks of a request in order',
  'src/server/storage': 'keeps what a server role remembers, whatever that is',
  'src/server/authorization/base':
    'what a person sees of every step, and what an operator reads of a wrong option',
  'src/server/authorization/accounts': 'who signs in doesn’t depend on what is asked for',
  'src/server/authorization/clients':
    'who a client is and where its answers go doesn’t depend on who signs in',
  'src/server/authorization': 'issues what the protected server checks, and counts requests as that does',
  'src/server/third-party': 'the authorization server whose people sign in at another one',
  'src/server': 'the doors: one file for each kind of server',
  'src/serve': 'runs both server roles, to try clients against',
  'src/vault/base': 'the kinds keep one contract and don’t know each other',
  'src/vault/keychain': 'a store of items; the root key of sealed files may be in it',
  'src/vault/sealed': 'a store of items in files; the vault seals them',
  'src/vault': 'chooses a kind, so it knows them all',
  'src/store': 'keeps records whatever they say; the vault proves them',
  'src/audit': 'writes down what is handed to it',
  'src/broker/records': 'facts alone: no rule and no request',
  'src/broker/questions': 'a question shows facts, and knows nothing of what an answer leads to',
  'src/broker/refusals': 'says why from facts and questions, for all who refuse',
  'src/broker/grants': 'holds vault and index together before anything uses a grant',
  'src/broker/tokens': 'a token needs a grant and asks nobody',
  'src/broker/consent': 'which grant may serve is decided on what the vault says of it',
  'src/broker/revocation': 'ends tokens and grants, and doesn’t ask who allowed them',
  'src/broker/loopback': 'hears the browser, and doesn’t know what for',
  'src/broker/destination': 'finds the server and our client there, before anybody signs in',
  'src/broker/sign-in': 'joins destination, loopback, consent and grants',
  'src/broker': 'the whole way of a request in one place',
  'src/ipc/wire': 'every local client loads it',
  'src/ipc/protocol/schemas': 'schemas of what the wire carries',
  'src/ipc/protocol': 'a method is made of schemas',
  'src/ipc/peer': 'reads what the system says of a process, for the server and for cards',
  'src/ipc/server': 'joins wire, schemas and peers, and is handed what answers',
  'src/client': 'beside the server: both stand on the wire',
  'src/bridge/base': 'messages, bounds and errors, for both sides of the bridge',
  'src/bridge/server': 'reaches the server, and knows no client',
  'src/bridge/eras': 'stands between a client and a server that speak different revisions',
  'src/bridge': 'a local client among others: it asks the broker as they do',
  'src/proxy': 'a local client: it stands on wire, peer and client, and knows nothing of the broker',
  'src/daemon/system': 'the machine is there before any home',
  'src/daemon/settings': 'values and their schemas, whichever home they belong to',
  'src/daemon/home': 'its vault says which of its settings count',
  'src/daemon/clients': 'tells programs apart, without a setting or a key',
  'src/daemon/vault': 'settings say which vault it is and when it locks',
  'src/daemon/proxy': 'gives proxied programs keys, and is asked by the methods',
  'src/daemon/forwards': 'serves programs elsewhere, and is asked by the methods',
  'src/daemon/methods': 'joins wire and broker, and is handed home, vault and settings',
  'src/daemon': 'puts all of it together',
  'src/setup/formats': 'changes a text, whatever it says',
  'src/setup': 'changes the files of clients, and is handed who asks the broker: a command or the app',
  'src/service': 'units of this user, for a command and for the app; knows no command',
  'src/cli/terminal': 'reads and prints without a broker',
  'src/cli/words': 'says what it is handed, whoever asked the broker for it',
  'src/cli/broker': 'reaches the broker, for every command',
  'src/cli/waiting': 'watches the broker over a connection that is there',
  'src/cli/programs': 'asks the broker in place of a program, for several commands',
  'src/cli/doctor': 'looks at what the broker says, beside the disk and the machine',
  'src/cli/setup': 'shows at a terminal what would change in files of clients, and asks',
  'src/cli/service': 'the broker as systemd runs it, for one command and for the package',
  'src/cli/forward': 'reaches another machine over ssh, for one command',
  'src/cli/commands': 'each stands alone on the three rooms before',
  'src/cli': 'chooses the command that is loaded',
  words: 'what a message and a locale are, whatever is said',
  'words/en': 'what the app says',
  demo: 'plays with the servers and the delivered program',
  'electron/base': 'words and files, for every part of the app',
  'electron/system': 'the machine, without a window',
  'electron/tray': 'shows what is so, without a window',
  'electron/bridge': 'one table for both ends, the page’s and the app’s',
  'electron/windows': 'answers by the table, for its own pages only',
  electron: 'puts daemon, tray and windows together',
  'renderer/base': 'words and types, for every part of the page',
  'renderer/state': 'knows what is so and draws nothing',
  'renderer/parts': 'draws what it is handed, wherever it stands',
  'renderer/lists': 'made of parts, for rows of any kind',
  'renderer/cards/base': 'a card stands in a window of its own too, without any view',
  'renderer/cards/access': 'one kind of card, made of many pieces',
  'renderer/cards': 'knows every kind of question',
  'renderer/views/vault': 'the other views can’t do without it, since a locked vault stops them all',
  'renderer/views/activity': 'its rows are shown for one server as well',
  'renderer/views/servers': 'a view; of others it shows the rows of activity',
  'renderer/views/programs': 'a view; of others it shows the rows of activity',
  'renderer/views/overview': 'a view; it leads to servers and apps',
  'renderer/views/settings': 'a view; it locks and opens the vault',
  'renderer/views/welcome':
    'the first run: it signs in as the view of servers does, and connects as the view of apps does',
  'renderer/views': 'stands around the others',
  renderer: 'chooses what a window shows',
};

/** How many files a reader still takes in at a glance; a few more are no fault yet. */
const maxFiles = 16;

/** One file a command: there are as many as there are commands. */
const unbounded = ['src/cli/commands'];

/** Everything a tree breaks of this order, as sentences. Its paths go from the project's root. */
export function roomFaults(tree: Tree): string[] {
  const order = Object.keys(rooms);
  const files = Map.groupBy(tree.keys(), roomOf);
  const homeless = [...files.keys()].filter((room) => !order.includes(room));
  const full = [...files].filter(([room, { length }]) => length > maxFiles && !unbounded.includes(room));
  const upward = [...tree].flatMap(([file, { imports }]) =>
    imports
      .map(({ target }) => target)
      .filter((target) => order.indexOf(roomOf(target)) > order.indexOf(roomOf(file)))
      .map((target) => `${file} imports ${target}: ${rooms[roomOf(file)]}`),
  );
  return [
    ...homeless.map((room) => `${room}/ is no room: give it a row`),
    ...full.map(([room, { length }]) => `${room}/ has ${length} files: which questions does it answer?`),
    ...upward,
    ...importCycles(tree),
  ];
}

function roomOf(file: string): string {
  return file.slice(0, file.lastIndexOf('/'));
}
