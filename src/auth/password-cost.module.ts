import { type DynamicModule, Module } from '@nestjs/common';
import { OUTDATED_COST, PASSWORD_COST, type ScryptCost } from './password-hash.js';

/** Costs of new password hashes, and of outdated ones. */
export class PasswordCost {
  constructor(
    readonly scrypt: ScryptCost = PASSWORD_COST,
    readonly outdated: ScryptCost = OUTDATED_COST,
  ) {}
}

/** Told from outside, so that tests need not pay it hundreds of times; no setting leads here. */
@Module({})
export class PasswordCostModule {
  static with(cost = new PasswordCost()): DynamicModule {
    const providers = [{ provide: PasswordCost, useValue: cost }];
    return { module: PasswordCostModule, global: true, providers, exports: [PasswordCost] };
  }
}
