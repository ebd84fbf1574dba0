/** As in English: the settings, with the pause of all access and the proxies. */
import type { settings as english } from '../en/settings.ts';
import type { Translation } from '../messages.ts';

export const settings: Translation<typeof english> = {
  settings: {
    title: 'Einstellungen',
    sections: 'Abschnitte',
    sectionNames: {
      general: 'Allgemein',
      security: 'Sicherheit',
      providers: 'Anmeldedienste',
      advanced: 'Erweitert',
    },
    attention: 'Bitte prüfen',
    lead: 'Einstellungen mit „nach Neustart“ ändern sich erst, wenn Keyturn neu startet.',
    app: 'Desktop-App',
    openAtLogin: 'Beim Anmelden am Computer starten',
    openAtLoginWhat: 'Damit Apps jederzeit fragen können.',
    windowAtLogin: 'Beim Anmelden das Fenster öffnen',
    windowAtLoginWhat: 'Für Desktops, die kein Symbol im Infobereich zeigen.',
    notifications: 'Benachrichtigungen',
    notificationsWhat: 'Bei Fragen und fehlgeschlagenen Erneuerungen.',
    lockWithScreen: 'Mit dem Bildschirm sperren',
    lockWithScreenWhat:
      'Den Tresor sperren, wenn der Bildschirm gesperrt wird, der Computer schläft oder jemand anderes an den Bildschirm wechselt.',
    notListening: {
      starting: 'Noch nicht aktiv: Die Überwachung wurde gerade erst gestartet.',
      noProgram:
        'Nicht aktiv: dbus-monitor ist nicht installiert. Keyturn sucht es erneut; gelingt das nicht, wird der Tresor gesperrt.',
      noBus:
        'Nicht aktiv: Der Bus dieser Desktop-Sitzung antwortet nicht. Keyturn versucht es erneut; gelingt das nicht, wird der Tresor gesperrt.',
      noSystemBus:
        'Nur zum Teil aktiv: Der Bus des Systems, der den Wechsel zu einem anderen Benutzer meldet, antwortet nicht. Keyturn versucht es erneut; gelingt das nicht, wird der Tresor gesperrt.',
      ended:
        'Nicht aktiv: Die Überwachung wurde beendet. Keyturn startet sie neu; gelingt das nicht, wird der Tresor gesperrt.',
    },
    vault: 'Tresor',
    vaultKind: 'Geheimnisse liegen in',
    vaultKinds: {
      keychain: 'dem Schlüsselbund dieses Computers',
      'sealed-file': 'einer versiegelten Datei',
      memory: 'dem Arbeitsspeicher: Sie sind vergessen, sobald Keyturn endet',
    },
    vaultKeys: {
      passphrase: 'mit einer Passphrase geöffnet',
      keychain: 'vom Schlüsselbund geöffnet',
    },
    vaultState: 'Zustand',
    changed: 'geändert',
    vaultStates: {
      open: 'Offen',
      unused: 'Noch nicht benutzt',
      new: 'Neu: noch nichts gespeichert',
      locked: 'Gesperrt',
      keychainLocked: 'Der Schlüsselbund ist gesperrt',
      waiting: 'Der Schlüsselbund wartet auf Sie',
      absent: 'Kein Schlüsselbund gefunden',
      crashed: 'Das Hilfsprogramm für den Schlüsselbund wurde beendet',
      slow: 'Offen, aber langsam',
      full: 'Der Schlüsselbund ist voll',
      damaged: 'Ein Geheimnis fehlt oder ist beschädigt',
    },
    lock: 'Jetzt sperren',
    locked: 'Der Tresor ist gesperrt. Bis Sie ihn entsperren, bekommen Apps keine Token.',
    unlock: 'Entsperren',
    unlockTitle: 'Tresor entsperren',
    unlocking: 'Wird entsperrt …',
    unlocked: 'Der Tresor ist offen.',
    passphrase: 'Passphrase',
    passphraseHint: 'Sie geht nur an den Tresor und sonst nirgendwohin.',
    choose: 'Passphrase wählen',
    chooseHint:
      'Wählen Sie eine lange und bewahren Sie sie sicher auf: Ohne sie lässt sich der Tresor nie wieder öffnen.',
    repeat: 'Passphrase wiederholen',
    differs: 'Die beiden Passphrasen sind verschieden.',
    changePassphrase: 'Passphrase ändern',
    currentPassphrase: 'Bisherige Passphrase',
    nextPassphrase: 'Neue Passphrase',
    passphraseChanged: 'Die Passphrase wurde geändert.',
    passphraseWhat:
      'Niemand kann sie wiederherstellen: Ohne sie ist alles in der versiegelten Datei verloren.',
    lockAfter: 'Bei Untätigkeit sperren',
    lockAfterWhat: 'Nach dieser Zeit ohne Anfrage einer App.',
    lockAfterNever: 'Nie',
    asking: 'Zugriffsanfragen',
    defaultLease: 'Übliche Dauer des Zugriffs',
    defaultLeaseWhat: 'Wie lange eine App Zugriff bekommt, wenn Sie auf der Karte nichts anderes wählen.',
    clientMetadata: 'Client-Metadaten-Dokument',
    clientMetadataUrl: 'URL des Client-Metadaten-Dokuments',
    clientMetadataHint:
      'Anmeldedienste, die solche Dokumente annehmen, lesen es, statt Keyturn zu registrieren. Leer lassen für keines.',
    release: 'Wenn diese App nicht läuft',
    released: 'Befehle dürfen ohne diese App mehr Zugriff geben',
    releasedWhat:
      'Solange das aus ist und diese App nicht läuft, behalten Apps den Zugriff, den Sie erlaubt haben, und keine bekommt mehr. Nur einschalten, ' +
      'wenn Sie dieses Verzeichnis ohne die App verwenden: Jedes Ihrer Programme könnte sich dann selbst mehr erlauben.',
    strange: 'Die Dateien dieses Verzeichnisses gehören nicht zusammen. Apps bekommen keine Token:',
    strangeBy: {
      otherVault:
        'Die Einstellungen nennen einen anderen Tresor als den mit Ihren Geheimnissen. Stellen Sie die Einstellungen von Keyturn wieder her und starten Sie es neu.',
      otherHome:
        'Der Tresor gehört zu anderen Dateien von Keyturn als diesen. Stellen Sie die Dateien von Keyturn wieder her und starten Sie es neu.',
    },
    unconfirmed:
      'Diese Einstellungen wurden außerhalb von Keyturn geändert, und Sie haben sie nicht bestätigt:',
    broker: 'Keyturn',
    updates: 'Aktualisierung',
    notUpdated: {
      none: 'Diese Version aktualisiert sich nicht selbst. Zum Aktualisieren eine neuere installieren.',
      unsigned:
        'Diese Version aktualisiert sich nicht selbst: Sie könnte nicht prüfen, von wem ein Update stammt. Zum Aktualisieren eine neuere installieren.',
    },
    checkForUpdates: 'Nach Updates suchen',
    checkForUpdatesWhat:
      'Einmal am Tag. Ein Update wird beim Beenden von Keyturn installiert, wenn sein Hersteller es signiert hat.',
    updateReady: 'Ein Update liegt bereit. Es wird beim Beenden von Keyturn installiert.',
    version: 'Version',
    home: 'Verzeichnis',
    logFile: 'Protokolldatei',
    logTerminal: 'das Terminal, in dem Keyturn gestartet wurde',
    logBroken: 'konnte nicht geschrieben werden',
    audit: 'Aktivitätsprotokoll',
    auditStates: {
      sealed: 'versiegelt: Änderungen fallen auf',
      waiting: 'noch nicht versiegelt: wartet auf den Tresor',
      plain: 'nicht versiegelt: Dieser Tresor hat keinen Schlüssel dafür',
      failing: 'kann nicht geschrieben werden',
    },
    shield: 'Schutz des Prozesses',
    shieldGaps: {
      unsupported: 'Dieses System bietet keinen Schutz für den Arbeitsspeicher von Keyturn.',
      noNative:
        'Der Arbeitsspeicher von Keyturn ist nicht geschützt: Die Funktionen des Systems ließen sich nicht laden.',
      readable:
        'Andere Ihrer Programme können den Arbeitsspeicher von Keyturn lesen: Das System hat es nicht verboten.',
      traceable:
        'Andere Ihrer Programme können den Arbeitsspeicher von Keyturn lesen: Desktop-Portale brauchen das, und das System (kernel.yama.ptrace_scope) verbietet es nicht.',
      coreFile: 'Ein Absturz kann eine Datei mit dem Arbeitsspeicher von Keyturn hinterlassen.',
      coreProgram:
        'Bei einem Absturz kann der Arbeitsspeicher von Keyturn an ein Programm gehen, das Absturzberichte sammelt.',
    },
    shieldWhole: 'vollständig',
    clocks: 'Uhren',
    clockAhead: 'geht gegenüber diesem Computer {seconds} s vor',
    clockBehind: 'geht gegenüber diesem Computer {seconds} s nach',
    browser: 'Befehl für den Browser',
    browserSystem: 'der Browser des Systems',
    insecure:
      'UNSICHER: Auf diesem Computer wird http ohne Verschlüsselung angenommen. Nur für die Entwicklung.',
    index: 'Verzeichnis der Anmeldungen',
    indexChecked:
      '{count, plural, =0 {noch nicht geprüft} one {# Anmeldung mit dem Tresor verglichen} other {# Anmeldungen mit dem Tresor verglichen}}',
    indexDiffers:
      'Das Verzeichnis der Anmeldungen wurde von außen geändert oder durch einen Absturz gekürzt. Keyturn richtet sich nach dem Tresor:',
    indexMore: '{count} weitere unter „Aktivität“.',
    unreadable:
      'Diese Dateien sind nicht lesbar. Keyturn hat sie gelassen, wie sie sind, und übergeht ihren Inhalt:',
    saved: 'Gespeichert.',
    savedLater: 'Gespeichert. Die Änderung gilt, sobald Keyturn neu startet.',
    nextStart: 'nach Neustart',
    nextStartWhat: 'Eine Änderung gilt, sobald Keyturn neu startet.',
    fromEnvironment: 'durch die Umgebung gesetzt',
    other: 'Alle Einstellungen',
    otherHint: 'Zu ändern mit dem Befehl keyturn settings.',
    unset: 'nicht gesetzt',
    overrides: 'Sicherheitsausnahmen',
    overridesHint:
      'Jede Ausnahme schaltet für einen Server oder Host einen Schutz ab. Nur für einen Server hinzufügen, dem Sie vertrauen und der sich nicht in Ordnung bringen lässt.',
    overridesNone: 'Es gibt keine Sicherheitsausnahmen.',
    overrideServer: 'Server oder Anmeldedienst; ein Host als https://notes.example',
    overrideName: 'Regel',
    overrideNames: {
      'issuer-mismatch': 'Seine Metadaten dürfen einen anderen Anmeldedienst nennen',
      'no-resource': 'Ohne den Parameter resource anfragen',
      'no-pkce-metadata': 'Annehmen, dass er PKCE prüft, obwohl er es nicht sagt',
      audience: 'Token annehmen, die einen anderen Server nennen',
      'private-address': 'Dieser Host darf eine Adresse in einem privaten Netz haben',
    },
    overrideDangers: {
      'issuer-mismatch':
        'Gefahr: Wer dieses Dokument ändern kann, kann Sie auf eine eigene Anmeldeseite leiten.',
      'no-resource':
        'Gefahr: Seine Token gelten vielleicht auch bei anderen Servern, und jeder davon könnte Ihre verwenden.',
      'no-pkce-metadata':
        'Gefahr: Wenn er es nicht prüft, kann ein anderes Programm auf diesem Computer den Code abfangen und verwenden.',
      audience:
        'Gefahr: Dieser Server bekommt Token, die auch ein anderer Server annimmt, und kann sie dort in Ihrem Namen verwenden.',
      'private-address':
        'Gefahr: Server können Keyturn dann zu diesem Host leiten, welche Adresse er auch hat. Nur für einen Host Ihres eigenen Netzes erlauben.',
    },
    overrideAdd: 'Ausnahme hinzufügen',
    overrideEnd: 'Ausnahme entfernen',
    overrideEndFor: 'Ausnahme entfernen: {server}, {rule}',
    overridden: '{server} hat jetzt eine Sicherheitsausnahme.',
    overrideEnded: 'Die Ausnahme für {server} wurde entfernt.',
  },

  pause: {
    title: 'Aller Zugriff',
    pause: 'Allen Zugriff anhalten',
    what: 'Apps bekommen keine Token und keine API-Schlüssel. Ein Token, das eine App schon hat, gilt bis zu seinem Ablauf.',
    forHour: 'Für 1 Stunde anhalten',
    untilIResume: 'Anhalten, bis ich fortsetze',
    paused: 'Aller Zugriff ist angehalten. Apps bekommen keine Token und keine API-Schlüssel.',
    until: 'Endet automatisch:',
    untilResumed: 'Bis Sie ihn fortsetzen. Ein Neustart beendet die Pause nicht.',
    resume: 'Fortsetzen',
    resumed: 'Der Zugriff wird fortgesetzt.',
    revokeAll: 'Allen Zugriff widerrufen',
    revokeAllWhat: 'Bei jedem Server, bei dem Sie angemeldet sind. Sie können sich später neu anmelden.',
    revokeAllButton: 'Alles widerrufen …',
    revokeAllTitle: 'Allen Zugriff widerrufen?',
    revokeAllConsequence:
      'Keyturn widerruft ihn hier sofort und bittet die Anmeldedienste, die Token zu widerrufen. Apps werden abgelehnt, bis Sie sich neu anmelden. API-Schlüssel bleiben: Sie lassen sich unter „Server“ entfernen.',
    cutOff: 'Apps, die den Zugriff verlieren',
    nobody: 'Keine: Keine App darf diese Server nutzen.',
    servers: 'Server',
    revokedAll: 'Aller Zugriff ist hier widerrufen. „Server“ zeigt, was jeder Anmeldedienst geantwortet hat.',
  },

  proxies: {
    title: 'Proxys',
    hint: 'Für eine App, die sich nicht mit Keyturn verbinden kann: Tragen Sie dort statt der Adresse des Servers die eines Proxys ein. Keyturn reicht ihre Anfragen mit einem Token weiter, das die App nie sieht. Gefragt werden Sie einmal je Adresse.',
    none: 'Kein Proxy hinzugefügt.',
    called: 'Name',
    port: 'Port',
    copy: 'Adresse kopieren',
    copyOf: 'Adresse kopieren: Proxy {name}',
    copied: 'Die Adresse des Proxys {name} ist kopiert. Bitte wie ein Passwort behandeln.',
    states: {
      starting: 'Er startet.',
      portTaken:
        'Ein anderes Programm belegt seinen Port, darum erreicht ihn keine App. Jenes Programm beenden, oder den Proxy entfernen und neu hinzufügen.',
      failed:
        'Sein Port lässt sich nicht öffnen, darum erreicht ihn keine App. Die Protokolldatei sagt mehr.',
    },
    rotate: 'Neue Adresse …',
    rotateOf: 'Neue Adresse für den Proxy {name}',
    rotateTitle: 'Diesem Proxy eine neue Adresse geben?',
    rotateWhat:
      'Die bisherige Adresse gilt sofort nicht mehr. Die neue muss in jede App, die ihn nutzt. Was Sie erlaubt haben, bleibt.',
    rotateConfirm: 'Neue Adresse',
    rotated: 'Der Proxy {name} hat eine neue Adresse. Bitte in die Apps kopieren, die ihn nutzen.',
    remove: 'Entfernen …',
    removeOf: 'Proxy {name} entfernen',
    removeTitle: 'Diesen Proxy entfernen?',
    removeWhat: 'Seine Adresse gilt sofort nicht mehr, und der Zugriff, den Sie ihr gegeben haben, endet.',
    removeConfirm: 'Entfernen',
    removed: 'Der Proxy {name} ist entfernt.',
    add: 'Proxy hinzufügen',
    server: 'Adresse des Servers',
    name: 'Name des Proxys',
    nameHint:
      'Bis zu 32 Buchstaben, Ziffern, Punkte, Binde- und Unterstriche. Leer lassen für den Host des Servers.',
    submit: 'Proxy hinzufügen',
    added: 'Der Proxy {name} wurde hinzugefügt. Seine Adresse jetzt in die App kopieren.',
  },
};
