export { Configuration } from './configuration.js';
export { ConfigurationModule } from './configuration.module.js';
export { configurationOfProcess, loadConfiguration, type Environment } from './load.js';
export { envExample } from './env-example.js';
export { warningsAbout } from './warnings.js';
export { StartupError } from './startup-error.js';
export { explainedByDataDir } from './data-dir-fault.js';
export { keptSecret } from './kept-secret.js';
export { keptText, syncDirectory } from './kept-text.js';
