/** As in English: what stands around the views: tabs, search, what waits, the vault’s banner; and the overview. */
import type { views as english } from '../en/views.ts';
import type { Translation } from '../messages.ts';

export const views: Translation<typeof english> = {
  tabs: {
    label: 'Ansichten',
    overview: 'Übersicht',
    servers: 'Server',
    programs: 'Verbundene Apps',
    activity: 'Aktivität',
    settings: 'Einstellungen',
  },

  overview: {
    title: 'Wer was nutzt',
    lead: 'Ihre verbundenen Apps, die Server, die sie nutzen dürfen, und was sie in den letzten 24 Stunden getan haben.',
    emptyTitle: 'Noch nirgends angemeldet',
    empty: 'Unter „Server“ einen Server hinzufügen oder eine App um Zugriff bitten lassen.',
    hint: 'Eine dickere Linie bedeutet mehr Nutzung in den letzten 24 Stunden.',
    cut: 'Das sind die zuletzt genutzten Apps. „Server“ und „Verbundene Apps“ führen alle auf.',
    notSignedIn: 'nicht angemeldet',
  },

  search: {
    button: 'Suchen',
    title: 'Suchen',
    label: 'Server, App oder Einstellung',
    hint: 'Die Eingabetaste öffnet den ersten Treffer; die Pfeiltasten führen zu den anderen.',
    nothing: 'Nichts gefunden.',
    server: 'Server',
    app: 'App',
    settings: {
      openAtLogin: 'Beim Anmelden am Computer starten',
      notifications: 'Benachrichtigungen',
      lockWithScreen: 'Mit dem Bildschirm sperren',
      defaultLease: 'Übliche Dauer des Zugriffs',
      pause: 'Allen Zugriff anhalten',
      revokeAll: 'Allen Zugriff widerrufen',
      lock: 'Tresor sperren und entsperren',
      lockAfter: 'Bei Untätigkeit sperren',
      passphrase: 'Passphrase ändern',
      overrides: 'Sicherheitsausnahmen',
      clients: 'OAuth-Clients nach Anmeldedienst',
      clientMetadata: 'Client-Metadaten-Dokument',
      proxies: 'Proxys',
      version: 'Version und Protokoll',
    },
  },

  waiting: {
    title: 'Wartet auf Sie',
    answer: 'Antworten …',
    allow: '{who, select, command {Der Befehl keyturn} other {{program}}} möchte Zugriff auf {server}',
    allowSeveral:
      '{who, select, command {Der Befehl keyturn} other {{program}}} möchte Zugriff auf {count} Server',
    key: '{who, select, command {Der Befehl keyturn} other {{program}}} möchte Ihren API-Schlüssel für {server} verwenden',
    choice:
      'Welches Konto soll {who, select, command {der Befehl keyturn} other {{program}}} bei {server} verwenden?',
    pair: '{program} möchte sich verbinden',
    account: 'Ein anderes Konto hat sich bei {server} angemeldet',
    settings: 'Einstellungen wurden außerhalb von Keyturn geändert',
    url: '{server} bittet Sie, eine Seite auf {site} zu öffnen',
    command: 'Ein Befehl möchte Zugriff oder Einstellungen ändern',
    login: 'Die Anmeldung bei {server} läuft',
    device: 'Die Anmeldung bei {server} braucht einen Code',
    dialog: 'Eine Frage an Sie',
    none: 'Nichts wartet auf Sie.',
    noneHint: 'Anfragen von Apps und Anmeldungen erscheinen hier.',
  },

  vaultBanner: {
    new: 'Der Tresor hat noch keine Passphrase. Bis Sie eine wählen, bekommen Apps keine Token.',
    locked: 'Der Tresor ist gesperrt. Bis Sie ihn entsperren, bekommen Apps keine Token.',
    keychainLocked:
      'Der Schlüsselbund dieses Computers ist gesperrt. Bis Sie ihn entsperren, bekommen Apps keine Token.',
    waiting: 'Der Schlüsselbund fragt Sie etwas. Bitte in seinem Fenster antworten.',
    absent: 'Kein Schlüsselbund gefunden. Apps bekommen keine Token.',
    crashed: 'Das Hilfsprogramm für den Schlüsselbund wurde beendet. Apps bekommen keine neuen Token.',
    full: 'Der Schlüsselbund ist voll. Neue Token können nicht gespeichert werden.',
    damaged: 'Ein Geheimnis im Tresor fehlt oder ist beschädigt.',
  },

  vaultHelp: {
    keychainLocked: 'Entsperren Sie ihn wie für andere Apps, oder drücken Sie „Entsperren“.',
    absent:
      'Starten Sie den Schlüsselbund Ihres Desktops (unter Linux gnome-keyring oder KWallet). Solange noch nichts gespeichert ist, bewahrt der Befehl keyturn settings vault sealed-file Geheimnisse stattdessen in einer Datei auf.',
    crashed: 'Keyturn startet es mit der nächsten Anfrage neu. Gelingt das nicht, starten Sie Keyturn neu.',
    full: 'Schaffen Sie Platz auf der Festplatte. Was gespeichert ist, bleibt, wie es ist.',
    damaged:
      'Es wurde nichts gelöscht. Bitte prüfen Sie, ob der richtige Schlüsselbund offen ist; sonst melden Sie sich beim betroffenen Server neu an.',
    slow: 'Der Schlüsselbund braucht lange für eine Antwort.',
  },
};
