// Plain JavaScript that an old Node.js can parse, so that a wrong version gets a message instead of a stack trace.
var found = process.versions.node.split('.').map(Number);
if (found[0] < 20 || (found[0] === 20 && found[1] < 19)) {
  console.error(
    'Node.js 20.19 or later is required, this is ' +
      process.versions.node +
      '; install a current LTS version.',
  );
  process.exit(1);
}
import('./build-if-needed.mjs').then(function () {
  return import('../dist/service/main.js');
});
