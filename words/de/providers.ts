/** As in English: the settings of sign-in providers: OAuth clients. */
import type { providers as english } from '../en/providers.ts';
import type { Translation } from '../messages.ts';

export const providers: Translation<typeof english> = {
  registration: {
    title: 'OAuth-Client hinzufügen',
    hint: 'Wenn ein Anmeldedienst Clients nicht automatisch registriert: Keyturn dort registrieren und das Ergebnis hier eintragen. Es gilt nur für diesen Anmeldedienst und ersetzt einen früheren Eintrag dafür.',
    add: 'Client hinzufügen',
    issuer: 'Anmeldedienst',
    clientId: 'Client-ID',
    proof: 'Client-Authentifizierung',
    proofs: {
      none: 'Keine (öffentlicher Client)',
      client_secret_basic: 'Client-Geheimnis, in einem Header (basic)',
      client_secret_post: 'Client-Geheimnis, in der Anfrage (post)',
      private_key_jwt: 'Privater Schlüssel (signiertes JWT)',
    },
    secret: 'Client-Geheimnis',
    secretHint: 'Es kommt in den Tresor und wird nie wieder angezeigt.',
    key: 'Privater Schlüssel (PEM oder JWK)',
    alg: 'Signiert mit',
    redirect: 'Redirect-URI, falls schon eine registriert ist',
    submit: 'Client hinzufügen',
    entered: 'Der Client für {issuer} wurde hinzugefügt.',
    registerThis: 'Diese Redirect-URI beim Anmeldedienst registrieren:',
  },

  registered: {
    title: 'OAuth-Clients nach Anmeldedienst',
    hint: 'Die Clients von Keyturn bei jedem Anmeldedienst. Geheimnisse und Schlüssel liegen im Tresor und werden nie angezeigt.',
    none: 'Kein Client hinzugefügt.',
    automatic: 'Automatisch registriert: {count}',
    clientId: 'Client-ID',
    proof: 'Client-Authentifizierung',
    use: 'Verwendet für',
    uses: {
      signIns: 'Anmeldungen',
      client_credentials: 'Token ohne Person (Client Credentials)',
      'id-jag': 'Token ohne Person (der Identitätsanbieter der Firma)',
      'jwt-bearer': 'Token ohne Person (Workload-Identität)',
    },
    redirectUri: 'Redirect-URI',
    registered: 'Registriert',
    entered: 'Hinzugefügt',
    byDocument: 'durch das Client-Metadaten-Dokument',
    remove: 'Entfernen …',
    removeAt: 'Client {clientId} bei {issuer} entfernen',
    removeTitle: 'Diesen Client entfernen?',
    removeWhat:
      'Keyturn löscht ihn mit seinem Geheimnis oder Schlüssel. Der Anmeldedienst erfährt davon nichts: Entfernen Sie ihn auch dort, wenn sonst nichts ihn nutzt. Die nächste Anmeldung dort braucht einen anderen Client oder registriert automatisch einen, wo der Anmeldedienst das erlaubt.',
    removeConfirm: 'Entfernen',
    removed: 'Der Client bei {issuer} wurde entfernt.',
  },
};
