; Written by scripts/packaging/installer.ts.
!include "getProcessInfo.nsh"
Var pid

!macro customCheckAppRunning
  ; A refresh under way is finished. An app without the command, or a broker that doesn't end, is ended below.
  nsExec::Exec /TIMEOUT=30000 `"$INSTDIR\resources\keyturn.exe" broker stop`
  Pop $0
  !insertmacro IS_POWERSHELL_AVAILABLE
  !insertmacro _CHECK_APP_RUNNING
!macroend
