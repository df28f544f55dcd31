import { Configuration } from './configuration.js';
import { envVariables } from './env.decorator.js';

/** The text of `.env.example`: every variable with its meaning and default. A test checks that the file matches. */
export function envExample(): string {
  const head =
    '# Every variable is optional in development. Copy to .env and uncomment what you change.\n' +
    '# A secret can be read from a file: NAME_FILE=/path instead of NAME=…\n';
  const entries = envVariables(Configuration).map(
    ({ name, meaning, default: value, secret }) =>
      `# ${meaning}${secret ? ' (secret)' : ''}\n#${name}=${value ?? ''}\n`,
  );
  return [head, ...entries].join('\n');
}
