export { type BackupStore, Configuration } from './configuration.js';
export { ConfigurationModule } from './configuration.module.js';
export { configurationOfProcess, knownVariables, loadConfiguration } from './load.js';
export { envExample } from './env-example.js';
export { warningsAbout } from './warnings.js';
export { isSecureAddress } from './validators.js';
export { addressIn, type SmtpServer, smtpServerIn } from './mail-settings.js';
export { readUrl } from './read-url.js';
export { isInS3, type S3Address, s3Address } from './s3-address.js';
export { OperatorError } from './operator-error.js';
export { chownDirectory, intendedOwnerOf, makeDirectories, makeFileForIntendedOwner } from './ownership.js';
export {
  diskFull,
  explainedByDataDir,
  keptSecret,
  keptText,
  syncDirectory,
  writeDurably,
} from './data-dir-files.js';
export { removeTree } from './remove-tree.js';
export { VERSION } from './version.js';
