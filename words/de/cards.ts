/** As in English: the cards: questions of apps, another account, a page, settings, a sign-in. */
import type { cards as english } from '../en/cards.ts';
import type { Translation } from '../messages.ts';
import { notDecided } from './common.ts';

export const cards: Translation<typeof english> = {
  card: {
    titleAllow:
      '{who, select, command {Dem Befehl keyturn} other {{app}}} die Nutzung von {server} erlauben?',
    titleSeveral:
      '{who, select, command {Dem Befehl keyturn} other {{app}}} die Nutzung von {count} Servern erlauben?',
    titleKey:
      '{who, select, command {Dem Befehl keyturn} other {{app}}} Ihren API-Schlüssel für {server} geben?',
    titlePair: 'Diese App verbinden?',
    who: 'App',
    file: 'Datei',
    process: 'Prozess {pid}',
    startedBy: 'gestartet von',
    elsewhere:
      'Diese App läuft auf {label}, und ihre Anfragen kommen über eine Weiterleitung, die Sie geöffnet haben. Host-Schlüssel: {key}',
    inSandbox:
      'Diese App läuft in der Sandbox {label}, und ihre Anfragen kommen über eine Weiterleitung, die Sie geöffnet haben.',
    ownName: 'Die App hat diesen Namen selbst gewählt.',
    files: {
      attested: {
        mark: 'Pfad geprüft',
        what: 'Das System bestätigt, dass die App diese Datei ausführt.',
      },
      interpreter: {
        mark: 'Interpreter',
        what: 'Diese Datei führt Skripte aus. Das System sagt nicht, welches Skript läuft.',
      },
      elsewhere: {
        mark: 'andere Datei',
        what: 'Die Datei unter diesem Pfad ist nicht die, die läuft: Sie wurde seit dem Start der App ersetzt, oder die App sieht eigene Dateien, wie in einem Container.',
      },
      unreadable: {
        mark: 'ungeprüft',
        what: 'Das System sagt nicht, welche Datei läuft: Der Name ist nur der, den die App sich selbst gibt.',
      },
    },
    claims: 'Angaben der App, ungeprüft:',
    script: 'Skript',
    arguments: 'Argumente',
    folder: 'Ordner',
    runsIn: 'Läuft in',
    enclosures: { flatpak: 'dem Flatpak', snap: 'dem Snap', container: 'dem Container', unit: 'der Unit' },
    chosenName: '(jedes Ihrer Programme kann diesen Namen wählen)',
    changeable: {
      you: 'Jedes Ihrer Programme kann diese Datei ändern.',
      group: 'Andere Benutzer einer Gruppe können diese Datei ändern.',
      others: 'Andere Benutzer können diese Datei ändern.',
    },
    seenAtPairing: 'beim Verbinden gesehen',
    otherFile: 'Andere Datei als beim Verbinden:',
    proxied:
      'Das ist die Adresse eines Proxys. Jedes Ihrer Programme, das sie kennt, nutzt, was Sie erlauben. Es bekommt kein Token.',
    cliWarning: 'Jedes Programm, das Sie ausführen, kann dieses Token dann mit dem Befehl keyturn bekommen.',
    cliKeyWarning:
      'Jedes Programm, das Sie ausführen, kann diesen Schlüssel dann mit dem Befehl keyturn bekommen.',
    keyAsked: 'Sie bittet um Ihren API-Schlüssel für diesen Server.',
    keyIn: 'Header',
    keyWhat:
      'Die App bekommt den Schlüssel selbst, und ein Schlüssel läuft nicht ab. Um die App später zu stoppen, den Schlüssel beim Server widerrufen.',
    keyGiven:
      '{who, select, command {Der Befehl keyturn} other {{program}}} darf Ihren API-Schlüssel verwenden.',
    server: 'Server',
    issuer: 'Anmeldedienst',
    issuerLater: 'Wird bei der Anmeldung gezeigt: Keyturn fragt keinen Server, bevor Sie es erlauben',
    account: 'Konto',
    currentAccounts: 'Hat Zugriff als',
    anotherAccount: 'Sie hat schon Zugriff auf diesen Server und bittet dort um ein anderes Konto.',
    scopes: 'Berechtigungen',
    scopesNone:
      'Keine bestimmten Berechtigungen angefragt. Die App bekommt, was Sie bei der ersten Anmeldung erteilen, und später nicht mehr.',
    newScope: 'neu',
    more: 'Sie hat schon Zugriff auf diesen Server und bittet um mehr.',
    changed:
      'Diese Anfrage hat sich geändert, seit die Karte erschien. Bitte vor der Entscheidung neu lesen.',
    howLong: 'Wie lange',
    leases: {
      once: 'Einmal',
      hour: '1 Stunde',
      run: 'Diese Sitzung',
      untilRevoked: 'Bis zum Widerruf',
      asBefore: 'Wie bisher',
    },
    leaseHints: {
      once: 'Für ein Token. Bei der nächsten Anfrage werden Sie wieder gefragt.',
      hour: 'Danach muss die App wieder fragen.',
      run: 'Bis die App endet.',
      runOf: 'Bis die App endet (Prozess {pid}).',
      untilRevoked: 'Bis Sie ihn unter „Verbundene Apps“ widerrufen.',
      asBefore: 'So lange wie das früher Erlaubte, und nicht länger.',
    },
    asked: 'Angefragt',
    expires: 'läuft ab',
    guesses: 'Wörter in Kursivschrift sind aus dem Namen erraten; was er bedeutet, entscheidet der Server.',
    noneKept: 'Mindestens eine Berechtigung ankreuzen oder „Nicht jetzt“ wählen.',
    noServerKept: 'Mindestens einen Server ankreuzen oder „Nicht jetzt“ wählen.',
    until: 'Bis {time}.',
    position: 'Anfrage {at} von {of}',
    deny: 'Ablehnen',
    denyAlways: 'Immer ablehnen',
    unseenScopes: 'Vor dem Erlauben bitte durch alle Berechtigungen blättern.',
    allow: 'Erlauben',
    pair: 'Verbinden',
    later: 'Nicht jetzt',
    help: 'Die Eingabetaste bedeutet „Nicht jetzt“. „Immer ablehnen“ lehnt auch künftige Anfragen ab. Erlauben geht mit einem Klick oder der Leertaste.',
    helpSeveral:
      'Die Eingabetaste bedeutet „Nicht jetzt“. Für Server ohne Häkchen darf die App wieder fragen. „Immer ablehnen“ lehnt auch künftige Anfragen für alle ab. Erlauben geht mit einem Klick oder der Leertaste.',
    helpPair:
      'Die Eingabetaste bedeutet „Nicht jetzt“. Verbinden geht mit einem Klick oder der Leertaste; bitte nur, wenn die Ziffern gleich sind.',
    digits: 'Bitte prüfen, ob die App diese Ziffern zeigt',
    allowed: '{who, select, command {Der Befehl keyturn} other {{program}}} hat Zugriff.',
    paired: '{program} ist verbunden.',
    denied: '{program} wurde abgelehnt.',
    deniedAlways:
      'Anfragen von {who, select, command {dem Befehl keyturn} other {{program}}} für diesen Server werden ab jetzt abgelehnt.',
    deniedAlwaysSeveral:
      'Anfragen von {who, select, command {dem Befehl keyturn} other {{program}}} für diese Server werden ab jetzt abgelehnt.',
    undoneSeveral: '{program} darf wieder nach diesen Servern fragen.',
    postponed: notDecided,
  },

  otherAccount: {
    title: 'Anderes Konto behalten?',
    help: 'Die Eingabetaste bedeutet „Nicht jetzt“. Keyturn behält dann nichts und widerruft die neuen Token.',
    confirm: 'Behalten',
    signedIn: 'Jetzt angemeldet',
    unnamed: 'Der Server hat nicht gesagt, wer',
    expected: 'Erwartet',
    what: 'Es hat sich ein anderes Konto angemeldet als erwartet. Wenn Sie es behalten, fügt Keyturn es hinzu, und Apps verwenden weiter die Konten, die sie jetzt verwenden.',
    answered: {
      yes: 'Das Konto wurde behalten.',
      no: 'Das Konto wurde nicht behalten.',
      later: 'Das Konto wurde nicht behalten.',
    },
  },

  choice: {
    title: 'Welches Konto?',
    help: 'Die Eingabetaste bedeutet „Nicht jetzt“. Keyturn fragt bei der nächsten Anfrage wieder.',
    confirm: 'Verwenden',
    deny: 'Nicht verwenden',
    by: 'Diese App hat schon Zugriff auf diesen Server. Ihre Antwort gibt ihr nicht mehr.',
    server: 'Server',
    account: 'Konto',
    folder: 'Ordner',
    pick: 'Bitte ein Konto wählen.',
    what: 'Keyturn merkt sich Ihre Wahl für diese App und diesen Server. Bittet die App um ein bestimmtes Konto, bekommt sie dieses.',
    answered: {
      yes: 'Keyturn merkt sich das Konto.',
      no: 'Das Konto wurde nicht verwendet.',
      later: 'Das Konto wurde nicht verwendet.',
    },
  },

  page: {
    title: 'Diese Seite öffnen?',
    help: 'Die Eingabetaste bedeutet „Nicht jetzt“ und öffnet nichts. Öffnen geht mit einem Klick oder der Leertaste.',
    confirm: 'Öffnen',
    deny: 'Nicht öffnen',
    host: 'Website',
    address: 'Vollständige Adresse',
    server: 'Angefragt von',
    by: 'Diese App nutzt den Server. Sie konnte Ihnen die Seite nicht selbst zeigen.',
    message: 'Der Server sagt',
    noMessage: 'nichts dazu',
    what: 'Keyturn weiß nicht, wozu die Seite dient. Nur öffnen, wenn Sie sie erwarten, und vor jeder Eingabe dort die Adresse im Browser prüfen.',
    answered: {
      yes: 'Die Seite öffnet sich in Ihrem Browser.',
      no: 'Die Seite wurde nicht geöffnet.',
      later: 'Die Seite wurde nicht geöffnet.',
    },
  },

  unconfirmed: {
    title: 'Diese Einstellungen anwenden?',
    help: 'Die Eingabetaste bedeutet „Nicht jetzt“. Nach „Ablehnen“ zeigt Keyturn sie in seinen Einstellungen und fragt nicht mehr.',
    what: 'Sie wurden in die Einstellungsdatei von Keyturn geschrieben, und Sie haben sie nicht bestätigt. Bis dahin haben sie keine Wirkung.',
    danger:
      'Ein Proxy, eine Zertifizierungsstelle oder ein Browser, den ein anderes Programm gewählt hat, könnte Ihre Anmeldungen mitlesen. Nur Einstellungen anwenden, die Sie kennen.',
    counts: 'Jetzt gilt:',
    content: 'Der Inhalt der Datei weicht von dem ab, was Sie bestätigt haben. Er hat jetzt keine Wirkung.',
    unset: 'nicht gesetzt: die Vorgabe',
    confirm: 'Einstellungen anwenden',
    answered: {
      yes: 'Die Einstellungen gelten.',
      no: 'Die Einstellungen gelten nicht.',
      later: notDecided,
    },
  },

  signIn: {
    titlePage: 'Auf einer Seite im Browser anmelden',
    titleDevice: 'Zum Anmelden diesen Code eingeben',
    server: 'Server',
    issuer: 'Anmeldedienst',
    account: 'Angefragtes Konto',
    former: 'Der Server hat früher einen anderen Anmeldedienst genannt:',
    formerWhat: 'Nur fortfahren, wenn Sie diese Änderung erwartet haben.',
    page: 'Öffnet sich die Seite nicht? Diese Adresse kopieren',
    paste: 'Auf einem anderen Gerät angemeldet? Letzte URL einfügen',
    pasteSubmit: 'Diese URL verwenden',
    errorPage: 'Die Seite zeigt einen Fehler',
    errorPageTold:
      'Keyturn registriert sich bei diesem Anmeldedienst neu. Danach öffnet es eine andere Seite.',
    newClient: 'Keyturn hat sich bei diesem Anmeldedienst neu registriert. Weiter geht es auf dieser Seite.',
    pasted: 'Die URL wurde angenommen.',
    code: 'Code',
    codeHint: 'Nur eingeben, wenn Sie diese Anmeldung selbst begonnen haben.',
    open: 'Seite öffnen',
    opened: 'Die Seite öffnet sich in Ihrem Browser.',
    cancel: 'Anmeldung abbrechen',
    cancelled: 'Die Anmeldung wurde abgebrochen.',
  },
};
