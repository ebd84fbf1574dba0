/** As in English: the card of a command that wants to widen something. */
import type { commands as english } from '../en/commands.ts';
import type { Translation } from '../messages.ts';
import { notDecided } from './common.ts';

export const commands: Translation<typeof english> = {
  command: {
    titles: {
      allow: 'Darf ein Befehl einer App Zugriff geben?',
      endDenial: 'Darf ein Befehl Ihre Ablehnung aufheben?',
      key: 'Darf ein Befehl einen API-Schlüssel setzen?',
      register: 'Darf ein Befehl einen OAuth-Client hinzufügen?',
      login: 'Darf ein Befehl eine Anmeldung beginnen?',
      override: 'Darf ein Befehl eine Sicherheitsausnahme hinzufügen?',
      proxy: 'Darf ein Befehl einen Proxy hinzufügen?',
      forward: 'Dürfen Programme anderswo nach Token fragen?',
      settings: 'Darf ein Befehl eine Einstellung ändern?',
      unlock: 'Darf ein Befehl den Tresor entsperren?',
      passphrase: 'Darf ein Befehl die Passphrase ändern?',
      backup: 'Darf ein Befehl eine Sicherung öffnen?',
      resume: 'Darf ein Befehl allen Zugriff fortsetzen?',
      other: 'Darf ein Befehl das tun?',
    },
    whats: {
      allow: 'Die App könnte dann Token bekommen, ohne Sie hier zu fragen.',
      endDenial:
        'Die App könnte Sie dann wieder fragen. Zugriff, den Sie ihr dort gegeben haben, würde auch enden.',
      key: 'Apps, denen Sie es erlauben, bekämen diesen Schlüssel und würden ihn in diesem Header an diesen Server senden. Nur fortfahren, wenn Sie ihn gerade selbst gesetzt haben.',
      register: 'Keyturn würde diesen Client bei diesem Anmeldedienst von da an verwenden.',
      login:
        'Keyturn würde das Konto verwenden, das sich auf jener Seite anmeldet. Apps, denen Sie dort Zugriff erlaubt haben, könnten dessen Token bekommen.',
      override: 'Keyturn würde diese Regel für diesen Server nicht mehr einhalten.',
      proxy:
        'Keyturn würde einen Port dieses Computers für Apps öffnen, die sich nicht mit Keyturn verbinden können. Es fragt Sie bei jeder App, die den Port nutzt.',
      forward:
        'Programme dort könnten nach Token für diese Server fragen. Jedes muss hier erst verbunden und erlaubt werden. Nur fortfahren, wenn Sie diesem Rechner vertrauen.',
      settings: 'Keyturn würde den neuen Wert verwenden.',
      unlock: 'Apps, denen Sie es erlaubt haben, bekämen wieder Token.',
      passphrase: 'Der Tresor ließe sich nur noch mit einer anderen Passphrase öffnen.',
      backup:
        'Der Befehl könnte die Konfiguration Ihrer Apps lesen, wie sie war, bevor Keyturn sie geändert hat, mit den Geheimnissen darin.',
      resume:
        'Die Pause würde enden. Apps, denen Sie es erlaubt haben, bekämen wieder Token und API-Schlüssel.',
      other: 'Dieses Fenster kennt diese Anfrage nicht. Bitte ablehnen, wenn Sie sie nicht erwartet haben.',
    },
    forward: 'Programme auf',
    hostKey: 'Host-Schlüssel',
    sandbox: 'Keiner: eine Sandbox auf diesem Computer',
    who: 'Ein Befehl',
    whoWhat: 'Von Ihnen in einem Terminal gestartet oder von einem Ihrer Programme.',
    client: 'App',
    signIn: 'Anmeldung',
    registration: 'Client-ID',
    newClient: 'Registrierung',
    registersAnew: 'Keyturn würde sich bei diesem Server neu registrieren.',
    grant: 'Art des Clients',
    grants: {
      authorization_code: 'Sie melden sich auf einer Seite des Anmeldedienstes an',
      client_credentials: 'Für sich selbst, ohne Person (Client Credentials)',
      'id-jag': 'Über die Anmeldung Ihrer Firma (zentral verwaltet)',
      'jwt-bearer': 'Für den Workload dieses Rechners, ohne Person (Workload-Identität)',
    },
    method: 'Wie',
    methods: {
      browser: 'auf einer Seite in Ihrem Browser',
      paste: 'auf einer Seite anderswo; der Befehl nimmt ihre letzte URL',
      device: 'mit einem Code auf einem anderen Gerät, den der Befehl zeigt',
    },
    authMethod: 'Client-Authentifizierung',
    redirectUri: 'Redirect-URI',
    idp: 'Identitätsanbieter',
    assertion: 'Identitätsnachweis aus',
    unasked: 'Dieser Client bekommt Token, ohne jemanden zu fragen.',
    replaces: 'Er ersetzt den jetzigen Client.',
    replacesKey:
      'Er ersetzt den jetzigen Schlüssel. Apps, die jenen Schlüssel nutzen dürfen, bekommen diesen, wenn der Header gleich bleibt.',
    uncheckedKey:
      'Keyturn würde den Server nicht fragen, ob er eine Anmeldung anbietet, die sicherer ist als ein Schlüssel.',
    allowsKey: 'Die App könnte Ihren API-Schlüssel dann bekommen, ohne Sie hier zu fragen.',
    key: 'API-Schlüssel in',
    rule: 'Regel',
    setting: 'Einstellung',
    value: 'Neuer Wert',
    unset: 'nicht gesetzt: Es gilt wieder die Vorgabe',
    until: 'Bis',
    anyScope: 'jede Berechtigung, die Sie dort jetzt oder später erteilen',
    account: 'Als Konto',
    help: 'Die Eingabetaste bedeutet „Nicht jetzt“. Nichts wird gemerkt; der Befehl darf wieder fragen.',
    confirm: 'Erlauben',
    answered: {
      yes: 'Der Befehl wurde erlaubt.',
      no: 'Der Befehl wurde abgelehnt.',
      later: notDecided,
    },
  },
};
