/** As in English: what several views say: buttons, notices, states, permissions, counts. */
import type { common as english } from '../en/common.ts';
import type { Translation } from '../messages.ts';

/** After „Nicht jetzt“. */
export const notDecided = 'Nicht entschieden. Eine neue Anfrage ist möglich.';

export const common: Translation<typeof english> = {
  appName: 'Keyturn',
  bridgeUnavailable: 'Keyturn hat nicht geantwortet. Bitte dieses Fenster schließen und wieder öffnen.',
  close: 'Schließen',
  undo: 'Rückgängig',
  cancel: 'Abbrechen',
  done: 'Fertig',
  save: 'Speichern',
  reload: 'Erneut versuchen',
  showMore: 'Mehr anzeigen',
  stale: 'Das ist vielleicht veraltet: Keyturn konnte es nicht neu laden.',
  loading: 'Wird geladen …',
  rule: 'Regel',
  yes: 'ja',
  never: 'nie',
  noMatch: 'Nichts passt zum Filter.',
  filter: 'Filter',
  copy: 'Kopieren',
  copied: 'Kopiert',
  copyOf: 'Kopieren: {what}',
  copiedOf: 'Kopiert: {what}',
  notCopied: 'Nicht kopiert. Der Text ist markiert: Bitte mit der Tastatur kopieren.',
  retryIn: 'Bitte {time} erneut versuchen.',

  state: {
    active: 'Angemeldet',
    noNewToken: 'Kein neues Token',
    refreshing: 'Wird erneuert',
    expired: 'Abgelaufen',
    loginRequired: 'Anmeldung nötig',
    revoked: 'Zugriff ist widerrufen',
  },

  scopes: {
    openid: 'wissen, wer Sie sind',
    profile: 'Ihren Namen und Ihr Bild sehen',
    email: 'Ihre E-Mail-Adresse sehen',
    address: 'Ihre Postanschrift sehen',
    phone: 'Ihre Telefonnummer sehen',
    offline_access: 'Zugriff behalten, während Sie weg sind',
  },

  scopeVerbs: {
    read: '{what} lesen',
    view: '{what} ansehen',
    list: '{what} auflisten',
    write: '{what} ändern',
    edit: '{what} ändern',
    update: '{what} ändern',
    create: '{what} anlegen',
    send: '{what} senden',
    delete: '{what} löschen',
    manage: '{what} verwalten',
    admin: '{what} administrieren',
  },

  counts: {
    rows: '{count, plural, one {# Zeile} other {# Zeilen}}',
    handedOut:
      '{count, plural, one {# Token oder Schlüssel ausgegeben} other {# Token und Schlüssel ausgegeben}}',
    refused: '{count, plural, one {# Anfrage abgelehnt} other {# Anfragen abgelehnt}}',
    refreshed: '{count, plural, one {# Erneuerung} other {# Erneuerungen}}',
    failed: '{count, plural, one {# Erneuerung fehlgeschlagen} other {# Erneuerungen fehlgeschlagen}}',
    grants: '{count, plural, one {# Server} other {# Server}}',
    programs: '{count, plural, one {# App} other {# Apps}}',
    questions: '{count, plural, one {# Frage} other {# Fragen}}',
  },
};
