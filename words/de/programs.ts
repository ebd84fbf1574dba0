/** As in English: the view of connected apps. */
import type { programs as english } from '../en/programs.ts';
import type { Translation } from '../messages.ts';

export const programs: Translation<typeof english> = {
  programs: {
    title: 'Verbundene Apps',
    lead: 'Apps auf diesem Computer, die um Zugriff gebeten haben, und Ihre Antworten.',
    emptyTitle: 'Noch keine App verbunden',
    empty:
      'Eine App, die Keyturn verwendet, fragt von selbst und zeigt sechs Ziffern. Vergleichen Sie diese mit der Karte hier.',
    filter: 'Apps filtern',
    all: 'Alle Apps',
    used: 'genutzt',
    cli: 'Der Befehl keyturn: Jedes Programm, das Sie ausführen, kann ihn verwenden.',
    proxied:
      'Die Adresse eines Proxys: Jedes Ihrer Programme, das sie kennt, nutzt ihn. Es bekommt kein Token.',
    file: 'Datei',
    files: {
      attested: {
        mark: 'Pfad beim Verbinden geprüft',
        what: 'Das System hat bestätigt, welche Datei lief, als die App verbunden wurde.',
      },
      interpreter: {
        mark: 'Interpreter',
        what: 'Diese Datei führt Skripte aus. Das System sagte nicht, welches Skript lief, als die App verbunden wurde.',
      },
      unverified: {
        mark: 'ungeprüft',
        what: 'Der Name ist nur der, den die App sich selbst gibt.',
      },
    },
    paired: 'Verbunden',
    lastUsed: 'Zuletzt genutzt',
    idle: '90 Tage nicht genutzt',
    mayReach: 'Hat Zugriff auf',
    nothing: 'Nichts: Die App hat keinen Zugriff.',
    allowed: 'Erlaubt',
    denied: 'Abgelehnt',
    deniedWhat: 'Sie haben den Zugriff abgelehnt. Keyturn fragt nicht mehr.',
    anyScope: 'jede Berechtigung, die Sie dort jetzt oder später erteilen',
    key: 'Ihr API-Schlüssel, im Header',
    account: 'als',
    ends: 'Läuft ab',
    untilRevoked: 'Bis Sie ihn widerrufen',
    thisRun: 'Für diese Sitzung der App',
    thisRunOf: 'Für diese Sitzung der App (Prozess {pid})',
    atLatest: 'spätestens',
    narrow: 'Zugriff einschränken …',
    narrowAt: 'Zugriff einschränken: {program}, {server}',
    end: 'Zugriff widerrufen',
    endAt: 'Zugriff widerrufen: {program}, {server}',
    ended: '{program} bekommt keine weiteren Token für {server}. Eine neue Anfrage ist möglich.',
    restored: '{program} hat wieder Zugriff auf {server}.',
    undo: 'Ablehnung aufheben',
    undoAt: 'Ablehnung aufheben: {program}, {server}',
    undone: '{program} darf wieder nach {server} fragen.',
    remove: 'Entfernen …',
    removeProgram: '{program} entfernen',
    removeTitle: 'Diese App entfernen?',
    removeWhat:
      'Der Schlüssel der App gilt nicht mehr, und ihr Zugriff endet sofort. Token, die sie schon hat, gelten bis zu ihrem Ablauf. Sie kann erneut um Verbindung bitten.',
    removeConfirm: 'Entfernen',
    removed: '{program} wurde entfernt.',
    narrowTitle: 'Welche Berechtigungen soll sie behalten?',
    narrowHint:
      'Lassen Sie weg, was sie nicht braucht. Sie kann später mehr verlangen, und Keyturn fragt Sie dann.',
    narrowed: '{program} hat jetzt weniger Zugriff auf {server}.',
  },

  forwards: {
    title: 'Offen für andere Rechner und Sandboxes',
    hint: 'Programme dort dürfen nach Token dieser Server fragen. Sie haben jede Weiterleitung mit dem Befehl keyturn forward geöffnet.',
    servers: 'Server',
    until: 'Bis',
    end: 'Beenden',
    endOf: '{name} beenden',
    endTitle: 'Diese Weiterleitung beenden?',
    endWhat:
      'Programme dort können ab sofort nicht mehr nach Token fragen. Token, die sie schon haben, gelten bis zu ihrem Ablauf. Apps bleiben für das nächste Mal verbunden.',
    ended: 'Programme auf {name} können nicht mehr nach Token fragen.',
  },
};
