/**
 * Whether this process runs periodic work by itself. The service does; an admin command only does what it was asked for, so it
 * neither runs the nightly jobs if it takes long nor changes data in a dry run.
 */
export class Background {
  constructor(readonly isOn: boolean) {}
}
