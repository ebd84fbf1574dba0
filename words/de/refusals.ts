/** As in English: what happened and what to do, by the reason of a refusal and the case of it. */
import type { refusals as english } from '../en/refusals.ts';
import type { Translation } from '../messages.ts';

export const refusals: Translation<typeof english> = {
  refusals: {
    internal: 'In Keyturn ist etwas schiefgegangen. Bitte melden Sie den Fehler.',
    parse_error:
      'Keyturn hat eine unlesbare Nachricht erhalten. Bitte aktualisieren Sie das ältere der beiden Programme.',
    method_not_found: 'Keyturn kennt diese Anfrage nicht. Bitte aktualisieren Sie Keyturn.',
    invalid_request: 'Eine Angabe ist ungültig. Bitte prüfen Sie sie und versuchen Sie es erneut.',
    invalid_resource:
      'Das ist keine Serveradresse. Bitte die ganze Adresse eingeben, etwa https://notes.example/mcp.',
    invalid_scope: 'Diese Berechtigungen lassen sich so nicht anfragen. Bitte prüfen Sie die Schreibweise.',
    not_found: 'Das gibt es nicht mehr.',
    conflict: 'Das geht im jetzigen Zustand nicht.',
    consent_required: 'Die App hat dafür keinen Zugriff. Sie kann Sie erneut fragen.',
    consent_pending: 'Eine Anfrage ist noch offen. Bitte beantworten Sie sie zuerst.',
    login_required: 'Sie müssen sich neu anmelden.',
    login_pending:
      'Eine Anmeldung ist noch nicht abgeschlossen. Bitte schließen Sie sie ab und versuchen Sie es dann erneut.',
    interrupted: 'Der Vorgang wurde unterbrochen. Bitte versuchen Sie es erneut.',
    consent_denied:
      'Das haben Sie früher abgelehnt. Unter „Verbundene Apps“ lässt sich die Ablehnung aufheben.',
    not_permitted: 'Das ist hier nicht erlaubt.',
    unpaired: 'Diese App ist nicht verbunden.',
    pairing_denied: 'Die App wurde nicht verbunden. Sie kann erneut fragen.',
    login_failed: 'Die Anmeldung ist fehlgeschlagen. Bitte versuchen Sie es erneut.',
    access_denied:
      'Der Anmeldedienst hat den Zugriff abgelehnt. Melden Sie sich neu an und erlauben Sie ihn dort, oder bitten Sie den Betreiber um Zugriff.',
    metadata_invalid:
      'Was der Server über seine Anmeldung angibt, ist nicht verwendbar. Bitte prüfen Sie die Adresse; stimmt sie, melden Sie es dem Betreiber.',
    issuer_mismatch:
      'Es hat ein anderer Anmeldedienst geantwortet als der gefragte. Bitte brechen Sie ab und melden Sie es dem Betreiber des Servers.',
    resource_mismatch: 'Die Anmeldung gilt für einen anderen Server. Bitte prüfen Sie die Adresse.',
    state_mismatch: 'Die Antwort gehört nicht zu dieser Anmeldung. Bitte beginnen Sie die Anmeldung neu.',
    pkce_unsupported:
      'Der Anmeldedienst bietet einen nötigen Schutz (PKCE) nicht an. Bitte melden Sie es seinem Betreiber.',
    insecure_url: 'Diese Adresse ist nicht sicher. Bitte eine eingeben, die mit https beginnt.',
    registration_required:
      'Der Anmeldedienst registriert Clients nicht automatisch. Fügen Sie in den Einstellungen einen OAuth-Client für ihn hinzu.',
    registration_failed:
      'Der Anmeldedienst hat die Registrierung von Keyturn abgelehnt. Fügen Sie in den Einstellungen einen OAuth-Client für ihn hinzu.',
    redirect_port_taken:
      'Ein anderes Programm belegt den Port, den diese Anmeldung braucht. Bitte beenden Sie es und versuchen Sie es erneut.',
    token_invalid:
      'Die Antwort des Anmeldedienstes ist nicht verwendbar. Bitte melden Sie es seinem Betreiber.',
    audience_mismatch:
      'Das Token des Anmeldedienstes ist für einen anderen Server. Keyturn verwendet es darum nicht.',
    scope_insufficient:
      'Die Berechtigungen reichen nicht aus. Melden Sie sich neu an, oder erlauben Sie der App mehr.',
    step_up_exhausted:
      'Der Server hat zu oft nach mehr Berechtigungen gefragt. Melden Sie sich neu an, wenn Sie sie erteilen möchten.',
    authorization_not_required: 'Dieser Server braucht keine Anmeldung.',
    account_required: 'Die App darf dort mehrere Konten verwenden, und noch ist keines gewählt.',
    audit_broken:
      'Das Aktivitätsprotokoll wurde verändert. Exportieren Sie es und klären Sie, wer auf die Dateien von Keyturn schreiben konnte.',
    account_mismatch: 'Ein anderes Konto als erwartet hat sich angemeldet. Bitte mit dem richtigen anmelden.',
    token_refused:
      'Der Server hat mehrere neue Token abgelehnt. Fragen Sie seinen Betreiber, oder melden Sie sich neu an.',
    client_rejected:
      'Der Anmeldedienst lehnt den Client von Keyturn ab. Melden Sie sich neu an, oder fügen Sie in den Einstellungen einen anderen Client hinzu.',
    key_refused:
      'Der Server hat den API-Schlüssel abgelehnt. Bitte erzeugen Sie beim Server einen neuen und setzen Sie ihn.',
    oauth_offered:
      'Dieser Server bietet eine Anmeldung an und braucht keinen API-Schlüssel. Bitte melden Sie sich stattdessen an.',
    assertion_invalid:
      'Der Identitätsnachweis dieses Workloads ist nicht verwendbar. Bitte prüfen Sie, woher er kommt.',
    authorization_server_unreachable:
      'Der Anmeldedienst ist nicht erreichbar. Bitte versuchen Sie es später erneut.',
    protected_server_unreachable:
      'Der Server ist nicht erreichbar. Bitte prüfen Sie die Adresse und das Netz.',
    host_unreachable: 'Dieser Rechner ist über SSH nicht erreichbar.',
    rate_limited: 'Das waren zu viele Anfragen. Bitte warten Sie einen Moment.',
    locked: 'Der Tresor ist gesperrt. Bitte entsperren Sie ihn und versuchen Sie es erneut.',
    paused: 'Aller Zugriff ist angehalten. Bitte setzen Sie ihn zuerst fort.',
    vault_unreadable:
      'Etwas im Tresor ist nicht lesbar. Es wurde nichts gelöscht. Bitte prüfen Sie, ob der richtige Schlüsselbund offen ist; sonst melden Sie sich neu an.',
    vault_unavailable:
      'Der Tresor antwortet nicht. Falls der Schlüsselbund etwas fragt, antworten Sie ihm, und versuchen Sie es erneut.',
    file_unreadable: 'Eine Datei ist nicht verwendbar. Keyturn hat sie gelassen, wie sie ist.',
    broker_unreachable: 'Keyturn antwortet nicht. Bitte starten Sie es neu.',
    broker_running: 'Keyturn läuft bereits.',
    handshake_failed: 'Die Verbindung kam nicht zustande. Bitte versuchen Sie es erneut.',
    socket_unsafe:
      'Andere Benutzer könnten an die Dateien von Keyturn gelangen. Keyturn läuft erst, wenn das behoben ist.',
    frame_invalid: 'Eine Nachricht war fehlerhaft. Bitte aktualisieren Sie das ältere der beiden Programme.',
    broker_stopping: 'Keyturn wird gerade beendet. Bitte versuchen Sie es gleich noch einmal.',
    version_unsupported:
      'Die Versionen der App und von Keyturn passen nicht zusammen. Bitte aktualisieren Sie die ältere.',
  },

  refusalCases: {
    invalid_request: {
      pastedAddress:
        'Das ist nicht die Adresse, bei der die Anmeldung endete. Bitte die ganze Adresse aus dem Browser einfügen.',
      registration:
        'Diese Angaben zum Client passen nicht zusammen. Bitte prüfen Sie sie und versuchen Sie es erneut.',
      passphraseForm: 'Das kann keine Passphrase sein: Sie ist leer oder zu lang.',
      staleList: 'Die Liste der Apps hat sich geändert. Bitte neu ansehen und dann noch einmal drücken.',
      settingValue: 'Diese Einstellung nimmt diesen Wert nicht an.',
    },
    not_found: {
      question:
        'Diese Anfrage ist nicht mehr offen. Sie wurde beantwortet oder zurückgezogen, oder sie ist abgelaufen.',
    },
    conflict: {
      changed: 'Es hat sich inzwischen etwas geändert. Bitte versuchen Sie es erneut.',
      clientNeeded: 'Anmeldungen brauchen diesen Client noch. Bitte widerrufen Sie zuerst deren Zugriff.',
      appChanged:
        'Die App, die gefragt hat, wurde beendet oder hat sich geändert. Es wurde nichts erlaubt; sie kann erneut fragen.',
      permissionEnded:
        'Der frühere Zugriff ist inzwischen beendet. Es wurde nichts erlaubt; bitte wählen Sie eine Dauer.',
      nameTaken: 'Dieser Name ist vergeben. Bitte wählen Sie einen anderen.',
      portTaken: 'Ein anderes Programm belegt diesen Port. Bitte wählen Sie einen anderen.',
    },
    not_permitted: {
      press:
        'Es wurde nichts erlaubt. Bitte sehen Sie sich die Anfrage an und drücken Sie noch einmal, mit Maus, Finger oder Leertaste.',
      loginItem:
        'macOS startet Keyturn beim Anmelden nur, wenn Sie es in den Systemeinstellungen unter „Allgemein“, „Anmeldeobjekte“ erlaubt haben.',
    },
    login_failed: {
      cancelled: 'Die Anmeldung wurde abgebrochen.',
      codeExpired: 'Der Code ist abgelaufen. Bitte beginnen Sie die Anmeldung neu.',
      codeRefused: 'Der Anmeldedienst hat die Anmeldung nicht abgeschlossen. Bitte beginnen Sie sie neu.',
      clientChanged: 'Der Client wurde während der Anmeldung geändert. Bitte beginnen Sie sie neu.',
      noBrowser:
        'Der Browser ließ sich nicht öffnen. Kopieren Sie die Adresse der Seite und öffnen Sie sie selbst.',
    },
    insecure_url: {
      privateAddress:
        'Dieser Server liegt in einem privaten Netz, und das haben Sie nicht bestätigt. Ist es Ihres, fügen Sie in den Einstellungen eine Sicherheitsausnahme hinzu.',
    },
    token_invalid: {
      clock: 'Das Token ist schon abgelaufen. Bitte prüfen Sie die Uhr dieses Computers.',
    },
    rate_limited: {
      passphrase: 'Die Passphrase war falsch. Bitte warten Sie einen Moment, bevor Sie es erneut versuchen.',
      full: 'Die Liste ist voll. Entfernen Sie einen Eintrag, den Sie nicht brauchen.',
    },
    locked: {
      wrongPassphrase: 'Diese Passphrase öffnet den Tresor nicht.',
      noPassphrase: 'Der Tresor hat noch keine Passphrase. Bitte wählen Sie eine.',
      keychainLocked:
        'Der Schlüsselbund dieses Computers ist gesperrt. Bitte entsperren Sie ihn und versuchen Sie es erneut.',
      waiting: 'Der Schlüsselbund fragt Sie etwas. Bitte antworten Sie ihm und versuchen Sie es dann erneut.',
    },
    vault_unavailable: {
      absent:
        'Kein Schlüsselbund gefunden. Starten Sie einen, oder bewahren Sie die Geheimnisse in einer versiegelten Datei auf.',
      crashed: 'Das Hilfsprogramm für den Schlüsselbund wurde beendet. Bitte versuchen Sie es erneut.',
      full: 'Es lässt sich nichts mehr speichern. Bitte prüfen Sie, ob auf der Festplatte Platz ist.',
    },
    file_unreadable: {
      unwritable:
        'Eine Datei lässt sich nicht schreiben. Bitte prüfen Sie, ob der Ordner Ihnen gehört und ob Platz frei ist.',
      otherVault:
        'Die Einstellungen von Keyturn nennen einen anderen Tresor als den mit Ihren Geheimnissen. Apps bekommen darum keine Token.',
      otherHome:
        'Der Tresor gehört zu anderen Dateien von Keyturn als diesen. Apps bekommen darum keine Token.',
    },
  },

  refusalFacts: {
    said: 'Der Server sagt:',
    expected: 'Erwartetes Konto:',
    signedIn: 'Angemeldet:',
    file: 'Datei:',
  },

  technicalMessage: 'Technische Meldung (Englisch)',
};
