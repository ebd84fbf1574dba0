/** As in English: the first run, and connecting the apps on this computer. */
import type { welcome as english } from '../en/welcome.ts';
import type { Translation } from '../messages.ts';

export const welcome: Translation<typeof english> = {
  welcome: {
    title: 'Willkommen bei Keyturn',
    lead: 'Sie melden sich bei jedem Server einmal an. Keyturn bewahrt die Token im Schlüsselbund auf und gibt kurzlebige an die Apps, denen Sie es erlauben. Hier sehen und widerrufen Sie alles.',
    clients: 'Die Apps auf diesem Computer verbinden',
    server: 'Bei einem Server anmelden',
    serverWhat:
      'Geben Sie einen Server ein, den Ihre Apps nutzen. Ihr Browser öffnet sich, und Sie melden sich einmal für alle an.',
    signedIn: 'Angemeldet.',
    login: 'Bereit sein, wenn eine App fragt',
    loginWhat: 'In den Einstellungen lässt es sich ändern.',
    programOwn:
      'Eine App, die keyturn/client verwendet, verbindet sich von selbst: Sie zeigt sechs Ziffern, und eine Karte hier zeigt dieselben.',
    done: 'Meine Server anzeigen',
  },

  setup: {
    title: 'Die Apps auf diesem Computer verbinden',
    lead: 'Apps, die sich selbst anmelden oder einen Schlüssel offen in einer Datei haben, können beides Keyturn überlassen: Der Eintrag startet dann die Brücke von Keyturn, und der Schlüssel kommt in den Tresor. Nichts ändert sich, bevor Sie hier eine Schaltfläche drücken, und alles lässt sich zurücknehmen.',
    open: 'Apps verbinden',
    looking: 'Apps werden gesucht …',
    none: 'Keine App auf diesem Computer hat einen Eintrag, den Keyturn übernehmen könnte.',
    noCommand:
      'Ein Eintrag braucht den Befehl keyturn, der nicht installiert ist und nicht mit dieser App kommt. Mit Node.js 22.19 oder neuer, in einem Klon von Keyturn, im Terminal ausführen:',
    install: 'npm run setup && npm install --global .',
    change: 'Änderung anzeigen',
    exposed:
      'Das Geheimnis in {header} ist unverschlüsselt. Keyturn entfernt es aus dieser Datei; erzeugen Sie danach beim Server ein neues.',
    exposedLeft: 'Das Geheimnis in {header} ist unverschlüsselt.',
    already: 'nutzt Keyturn schon',
    left: 'bleibt, wie es ist:',
    leftBecause: {
      unusable: 'Diese Datei lässt sich nicht lesen oder ändern.',
      notUnderstood: 'Keyturn versteht nicht, was in dieser Datei steht.',
      versioned: 'Diese Datei gehört zu einem Projekt unter Versionsverwaltung.',
      form: 'in dieser Form ändert Keyturn ihn nicht.',
      ownSignIn: 'er sagt selbst, wie er sich anmeldet.',
      servers: 'er nennt keinen Server oder mehrere.',
      arguments: 'er hat ein Argument, das Keyturn nicht kennt.',
      headersElsewhere: 'seine Header stehen in einer anderen Datei.',
      url: 'seine Adresse ist weder https noch auf diesem Computer.',
      urlSecret: 'seine Adresse enthält ein Geheimnis, das in einen Header gehört.',
      variable: 'ein Header nimmt seinen Wert aus einer Variablen.',
      runs: 'eine seiner Variablen ändert, wie ein Programm läuft oder sich verbindet.',
      secrets: 'er hat mehrere Geheimnisse; Keyturn bewahrt für jeden Server eines auf.',
      noKey: 'sein Geheimnis ist kein API-Schlüssel, den Keyturn aufbewahren kann.',
      changed: 'die Datei hat sich inzwischen geändert. Bitte noch einmal suchen.',
      otherKey: 'ein anderer Eintrag hat für diesen Server einen anderen Schlüssel.',
      keyThere:
        'der Tresor hat schon einen API-Schlüssel für diesen Server. Entfernen Sie ihn zuerst, um diesen zu verwenden.',
      keyFailed: 'sein Schlüssel ließ sich nicht in den Tresor übernehmen.',
    },
    connect: '{count, plural, one {# Eintrag verbinden} other {# Einträge verbinden}}',
    connecting: 'Wird verbunden …',
    again: 'Noch einmal suchen',
    changed: 'Die Dateien wurden geändert.',
    resultTitle: 'Was getan wurde',
    restart: 'Starten Sie diese Apps neu. Jede fragt hier bei ihrem ersten Start nach ihrem Zugriff.',
    switched: 'startet jetzt die Brücke von Keyturn.',
    secret: {
      vault: 'Das Geheimnis in {header} ist jetzt im Tresor.',
      sealed:
        'Das Geheimnis in {header} ist nur noch in der versiegelten Sicherung, da der Server eine Anmeldung anbietet.',
    },
    undo: 'Alle Änderungen zurücknehmen',
    undoTitle: 'Alle Änderungen zurücknehmen?',
    undoWhat:
      'Die Einträge werden wieder wie vorher. Was Sie seither in diesen Dateien geändert haben, bleibt.',
    undone: 'Die Änderungen sind zurückgenommen.',
    undoOutcomes: {
      restored: 'wie zuvor, Byte für Byte.',
      unchanged: 'hatte keinen Eintrag von Keyturn.',
      gone: 'gibt es nicht mehr.',
      unreadable: 'Keyturn versteht nicht, was darin steht, und lässt die Datei, wie sie ist.',
      changing: 'hat sich inzwischen geändert. Versuchen Sie es noch einmal.',
      entries: 'wurde seither geändert: Zurückgenommen sind nur die Einträge, die noch von Keyturn sind.',
    },
    keyStays: 'Der API-Schlüssel für {server} bleibt im Tresor und steht vielleicht wieder in der Datei.',
  },
};
