// A reporter of vitest's that prints a failed test's cause when the test fails: vitest itself does at the end of the run
// only, which a run that is broken off never reaches.
import process from 'node:process';

export default class FailuresAtOnce {
  onTestCaseResult(testCase) {
    const { errors = [] } = testCase.result();
    tell(`${testCase.module.relativeModuleId} > ${testCase.fullName}`, errors);
  }

  /** A hook of a group of tests. */
  onTestSuiteResult(testSuite) {
    tell(`${testSuite.module.relativeModuleId} > ${testSuite.fullName}`, testSuite.errors());
  }

  /** A hook of a file, or the file itself. */
  onTestModuleEnd(testModule) {
    tell(testModule.relativeModuleId, testModule.errors());
  }
}

function tell(name, errors) {
  if (errors.length === 0) return;
  const texts = errors.map(({ message, stack }) =>
    stack?.includes(message) ? stack : `${message}\n${stack ?? ''}`,
  );
  process.stderr.write(`FAILED ${name}\n${texts.join('\n')}\n`);
}
