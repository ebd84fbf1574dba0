/** As in English: the view of servers, with its dialogs, receipts and API keys. */
import type { servers as english } from '../en/servers.ts';
import type { Translation } from '../messages.ts';

export const servers: Translation<typeof english> = {
  servers: {
    title: 'Server',
    lead: 'Wo Sie angemeldet sind und welche Apps das nutzen.',
    emptyTitle: 'Noch nirgends angemeldet',
    empty: 'Oben „Server hinzufügen“ wählen oder eine App um Zugriff bitten lassen.',
    filter: 'Server filtern',
    all: 'Alle Server',
    apiKey: 'API-Schlüssel',
    add: 'Server hinzufügen',
    addLabel: 'Adresse des Servers',
    addHint: 'Ihr Browser öffnet die Seite des Anmeldedienstes, den der Server verwendet.',
    signIn: 'Anmelden',
    signInAgain: 'Neu anmelden',
    signInAgainAt: 'Neu anmelden bei {server}',
    signingIn: 'Wartet auf Sie im Browser …',
    signedIn: 'Angemeldet bei {server}.',
    account: 'Konto',
    accountDefault: 'nicht genannt',
    issuer: 'Anmeldedienst',
    scopes: 'Berechtigungen',
    noScopes: 'keine',
    expires: 'Token läuft ab',
    expiresUnknown: 'kein aktives Token',
    refreshed: 'Zuletzt erneuert',
    usedBy: 'Genutzt von',
    usedByNobody: 'keine App darf es nutzen',
    more: '{count} weitere',
    waived: 'Sicherheitsausnahmen',
    tokenType: 'Token',
    bound: 'an einen Schlüssel gebunden, den nur Keyturn hat: ein kopiertes Token ist anderswo wertlos',
    audience: 'Token gilt für',
    audiences: {
      unbound: 'keinen bestimmten Server: Andere Server nehmen es vielleicht auch an',
      other: 'auch für einen anderen Server: Dieser Server könnte es dort verwenden',
    },
    why: 'Bitte neu anmelden:',
    switchedOff:
      'Von Ihrer Verwaltung abgeschaltet: Keyturn behält die Anmeldung, erneuert sie aber nicht, und Apps bekommen keine Token.',
    causes: {
      signInUnfinished: 'Die letzte Anmeldung wurde nicht abgeschlossen.',
      vaultForgot: 'Die Token waren nur im Arbeitsspeicher und sind weg.',
      secretGone: 'Die Token sind nicht mehr im Tresor.',
      noRefreshToken: 'Das Token ist abgelaufen, und der Anmeldedienst hat keines zum Erneuern ausgegeben.',
      refreshTokenEnded: 'Der Anmeldedienst hat den Zugriff beendet.',
      refreshLost:
        'Der Anmeldedienst nimmt das Token nicht mehr an. Die Antwort auf die letzte Erneuerung ging verloren.',
      endedWithOther:
        'Der Anmeldedienst hat ihn zusammen mit einem anderen Zugriff beendet, den Sie widerrufen haben.',
      clientForgotten: 'Der Anmeldedienst kennt den Client von Keyturn nicht mehr.',
      refusedInARow: 'Der Anmeldedienst hat die Erneuerung mehrmals abgelehnt.',
      issuerChanged: 'Der Server nennt jetzt einen anderen Anmeldedienst.',
      keyWanted: 'Der Server nimmt nur noch Token an, die an einen Schlüssel gebunden sind.',
    },
    causeUnknown: 'Der Anmeldedienst nimmt sie nicht mehr an.',
    trouble: 'Keyturn bekommt kein neues Token: {reason}.',
    troubleSince: 'Erster Fehlschlag',
    nextTry: 'nächster Versuch',
    troubles: {
      authorization_server_unreachable: 'Der Anmeldedienst ist nicht erreichbar',
      client_rejected: 'Der Anmeldedienst lehnt den Client von Keyturn ab',
      resource_mismatch: 'Der Anmeldedienst gibt keine Token für diesen Server aus',
      scope_insufficient: 'Der Anmeldedienst lehnt diese Berechtigungen ab',
      login_failed: 'Der Anmeldedienst lehnt die Erneuerung ab',
      token_invalid: 'Die Antwort des Anmeldedienstes ist nicht verwendbar',
      audience_mismatch: 'Das Token des Anmeldedienstes ist für einen anderen Server',
    },
    attempt: {
      broker:
        'Keyturn wurde während einer Erneuerung beendet, darum ist ihr Ergebnis unbekannt. Die nächste Erneuerung zeigt es.',
      answer: 'Die Antwort auf eine Erneuerung ging verloren. Die nächste Erneuerung zeigt, wie sie ausging.',
    },
    attemptStarted: 'Begonnen',
    receipt: 'Quittung',
    revoke: 'Zugriff widerrufen …',
    revokeAt: 'Zugriff widerrufen: {server}',
    tellAgain: 'Widerruf wiederholen …',
    explain: 'Details',
    explainAt: 'Details zur Anmeldung bei {server}',
  },

  explain: {
    title: 'Details zur Anmeldung',
    now: 'Jetzt',
    expires: 'Läuft ab',
    next: 'Nächstes Token',
    signedIn: 'Datum der Anmeldung',
    clock: 'Uhr',
    clockAhead:
      'Die Uhr des Anmeldedienstes geht {seconds} s vor. Keyturn berücksichtigt das; eine der beiden Uhren geht falsch.',
    clockBehind:
      'Die Uhr des Anmeldedienstes geht {seconds} s nach. Keyturn berücksichtigt das; eine der beiden Uhren geht falsch.',
    refused: 'Abgelehnte Token',
    refusedOf: 'Der Server hat mehrere Token abgelehnt von',
    refusedUntil: 'Keyturn holt kein neues vor',
    nextBy: {
      underWay: 'Eine Erneuerung läuft.',
      itself: 'Automatisch, weil eine App es nutzt:',
      request: 'Wenn eine App danach fragt.',
      requestAfter: 'Wenn eine App danach fragt, frühestens',
      signIn:
        'Der Anmeldedienst hat kein Refresh-Token ausgegeben: Nach dem Ablauf dieses Tokens ist eine neue Anmeldung nötig.',
      resume: 'Wenn Sie den Zugriff fortsetzen.',
      resumeAfter: 'Wenn die Pause allen Zugriffs endet:',
      over: 'Dafür ist eine neue Anmeldung nötig.',
    },
    timeline: 'Was geschehen ist',
    timelineEmpty: 'Das Aktivitätsprotokoll hat keinen Eintrag dazu.',
  },

  revoke: {
    title: 'Zugriff widerrufen?',
    what: 'Keyturn widerruft ihn hier sofort und bittet den Anmeldedienst, seine Token zu widerrufen. Apps, die ihn nutzen, werden abgelehnt, bis Sie sich neu anmelden.',
    confirm: 'Zugriff widerrufen',
    doneTitle: 'Zugriff hier widerrufen',
    announced: 'Der Zugriff auf {server} ist hier widerrufen. {receipt}',
    none: 'Er war schon widerrufen.',
  },

  receipts: {
    confirmed: 'Der Anmeldedienst hat bestätigt, dass er die Token widerrufen hat.',
    pending:
      'Ausstehend: Der Anmeldedienst war noch nicht erreichbar. Keyturn versucht es automatisch weiter.',
    notOffered:
      'Der Anmeldedienst bietet keinen Widerruf an. Keyturn hat die Token gelöscht, aber sie gelten dort vielleicht weiter: Um sie zu widerrufen, entfernen Sie den Zugriff von Keyturn in Ihrem Konto beim Anmeldedienst.',
    abandoned: 'Der Anmeldedienst war nicht erreichbar, und Keyturn versucht es nicht weiter.',
    nextTry: 'Nächster Versuch:',
    triedUntil: 'Versucht bis:',
    liveUntil: 'Ein Token, das eine App schon hat, gilt bis:',
    ended: 'Widerrufen:',
  },

  apiKeys: {
    title: 'API-Schlüssel',
    hint: 'Für Server ohne Anmeldung. Gesetzt werden sie mit dem Befehl keyturn key set.',
    header: 'Header',
    set: 'Gesetzt',
    unchecked: 'Gesetzt, ohne zu fragen, ob der Server eine Anmeldung anbietet.',
    refused: 'Der Server hat diesen Schlüssel abgelehnt',
    remove: 'Entfernen …',
    removeAt: 'API-Schlüssel für {server} entfernen',
    removeTitle: 'Diesen API-Schlüssel entfernen?',
    removeWhat:
      'Keyturn vergisst den Schlüssel, und keine App bekommt ihn mehr. Der Schlüssel selbst gilt weiter, und eine App hat ihn vielleicht behalten: Bitte auch beim Server widerrufen.',
    removeConfirm: 'Entfernen',
    removed: 'Der API-Schlüssel für {server} ist entfernt.',
  },
};
