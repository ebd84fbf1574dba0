/** The desktop's own words in German: menus, tray, dialogs and notifications. */
import type { desktop as english } from '../en/desktop.ts';
import type { Translation } from '../messages.ts';

export const desktop: Translation<typeof english> = {
  tray: {
    fine: 'Keyturn',
    waiting: 'Keyturn: Eine Anfrage wartet auf Sie',
    signedOut: 'Keyturn: Ein Server braucht eine Anmeldung',
    locked: 'Keyturn: gesperrt',
    vaultFailed: 'Keyturn: Der Tresor ist nicht benutzbar',
    paused: 'Keyturn: Aller Zugriff ist angehalten',
    offline: 'Keyturn: offline',
  },

  server: '{server}: {state}',
  states: {
    active: 'angemeldet',
    refreshing: 'angemeldet',
    expired: 'abgelaufen',
    loginRequired: 'abgemeldet',
  },

  questions: {
    account: 'Ein anderes Konto hat sich bei {server} angemeldet, über {provider}',
    settings: 'Einstellungen wurden außerhalb von Keyturn geändert',
    allow: '{who, select, command {Der Befehl keyturn} other {{app}}} möchte Zugriff auf {server}',
    allowSeveral:
      '{who, select, command {Der Befehl keyturn} other {{app}}} möchte Zugriff auf {count} Server',
    key: '{who, select, command {Der Befehl keyturn} other {{app}}} möchte Ihren API-Schlüssel für {server} verwenden',
    url: '{server} bittet Sie, eine Seite auf {site} zu öffnen',
    choice:
      'Welches Konto soll {who, select, command {der Befehl keyturn} other {{app}}} bei {server} verwenden?',
    project:
      'Ein Projekt möchte, dass {who, select, command {der Befehl keyturn} other {{app}}} eines Ihrer Konten bei {server} verwendet',
    pair: '{app} möchte sich verbinden',
    signIn: 'Bei {server} anmelden, über {provider}',
    signInAs: 'Bei {server} anmelden, über {provider}, als {account}',
  },

  commands: {
    key: 'Ein Befehl möchte einen API-Schlüssel für {server} setzen',
    allow:
      'Ein Befehl möchte {who, select, command {dem Befehl keyturn} other {{app}}} Zugriff auf {server} geben',
    allowKey:
      'Ein Befehl möchte {who, select, command {den Befehl keyturn} other {{app}}} Ihren API-Schlüssel für {server} verwenden lassen',
    endDenial:
      'Ein Befehl möchte die Ablehnung {who, select, command {des Befehls keyturn} other {von {app}}} bei {server} aufheben',
    register: 'Ein Befehl möchte einen OAuth-Client für {provider} hinzufügen',
    login: 'Ein Befehl möchte eine Anmeldung bei {server} beginnen',
    proxy: 'Ein Befehl möchte einen Proxy für {server} hinzufügen',
    forward: 'Ein Befehl möchte Programme auf {machine} nach Token fragen lassen',
    override: 'Ein Befehl möchte eine Sicherheitsausnahme für {server} hinzufügen',
    settings: 'Ein Befehl möchte die Einstellung {setting} ändern',
    backup: 'Ein Befehl möchte die Sicherung einer Konfiguration öffnen',
    resume: 'Ein Befehl möchte allen Zugriff fortsetzen',
    passphrase: 'Ein Befehl möchte die Passphrase des Tresors ändern',
    unlock: 'Ein Befehl möchte den Tresor entsperren',
  },

  activity: {
    row: '{time}  {what}',
    rowOften: '{time}  {what} ({count, plural, one {#-mal} other {#-mal}})',
    token: '{who, select, command {Der Befehl keyturn} other {{app}}} hat ein Token für {server} bekommen',
    key: '{who, select, command {Der Befehl keyturn} other {{app}}} hat den API-Schlüssel für {server} bekommen',
    refused: '{who, select, command {Der Befehl keyturn} other {{app}}} wurde bei {server} abgelehnt',
    signedIn: 'Sie haben sich bei {server} angemeldet',
    resumed: 'Sie haben allen Zugriff fortgesetzt',
    pauseEnded: 'Die Pause allen Zugriffs ist beendet',
    paused: 'Sie haben allen Zugriff angehalten',
  },

  paused: 'Aller Zugriff ist angehalten, bis Sie fortsetzen',
  pausedUntil: 'Aller Zugriff ist angehalten bis {time}',
  signInAgain: 'Neu anmelden',
  noServers: 'Noch keine Server',
  lock: 'Sperren',
  unlock: 'Entsperren',
  pause: 'Allen Zugriff anhalten',
  pauseForHour: 'Für 1 Stunde',
  pauseForGood: 'Bis ich fortsetze',
  resume: 'Fortsetzen …',
  crashed: 'Ein Fenster von Keyturn funktioniert nicht mehr',
  crashedWhat: 'Es wurde nichts erlaubt. Apps behalten den Zugriff, den Sie gegeben haben.',
  openAgain: 'Wieder öffnen',
  close: 'Schließen',
  noTray: 'Keyturn läuft ohne Fenster weiter',
  noTrayWhat:
    'Dieser Desktop zeigt anscheinend keine Symbole im Infobereich. Um das Fenster zu öffnen, starten Sie Keyturn noch einmal. Fragt eine App, öffnet sich ein Fenster.',
  noTrayDone: 'OK',
  noTrayWindow: 'Beim Anmelden ein Fenster öffnen',
  recent: 'Letzte Aktivität',
  nothingRecent: 'Noch nichts',
  open: 'Keyturn öffnen',
  startAtLogin: 'Beim Anmelden starten',
  quit: 'Beenden',
  question: 'Keyturn braucht Ihre Antwort',
  signedOut: '{server}: Bitte melden Sie sich neu an',
  signedOutTitle: 'Abgemeldet',
  exportTitle: 'Aktivität exportieren',
  file: 'Datei',
  view: 'Ansicht',
  edit: 'Bearbeiten',
  window: 'Fenster',
  roles: {
    about: 'Über Keyturn',
    hide: 'Keyturn ausblenden',
    hideOthers: 'Andere ausblenden',
    unhide: 'Alle einblenden',
    quit: 'Keyturn beenden',
    close: 'Fenster schließen',
    minimize: 'Im Dock ablegen',
    undo: 'Rückgängig',
    redo: 'Wiederholen',
    cut: 'Ausschneiden',
    copy: 'Kopieren',
    paste: 'Einsetzen',
    selectAll: 'Alles auswählen',
    zoomIn: 'Größer',
    zoomOut: 'Kleiner',
    resetZoom: 'Originalgröße',
  },
  held: 'Ein Dienst hindert Keyturn am Start',
  heldWhat:
    'Auf diesem Computer nimmt ein systemd-Dienst (keyturn service install --socket) statt der App Verbindungen an. Wenn Sie ihn entfernen, startet die App und bedient Ihre Apps, solange sie läuft. Ihre Anmeldungen und der Zugriff, den Sie gegeben haben, bleiben.',
  removeService: 'Dienst entfernen',
  startFailed: 'Keyturn konnte nicht starten',
  switches:
    'Die App wurde mit {switches} gestartet, und das nimmt sie nicht an. In docs/app.md steht, warum.',
  faulted: 'Keyturn wurde beendet',
  report: 'In Keyturn ist etwas schiefgegangen. Bitte melden Sie den Fehler.',
};
