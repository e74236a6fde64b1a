import { OverRefund, Payments } from '../../examples/support/payments.ts';

/** What the test tells the process, as JSON in its first argument. */
export interface PayingOptions {
  file: string;
  orderId: string;
  atMostCents: number;
  /** One payment each, in this order. */
  payments: { idempotencyKey: string; cents: number }[];
}

/** What it prints: of each payment its receipt, or what was left. */
export type Paid = ({ receipt: string } | { leftCents: number })[];

const { file, orderId, atMostCents, payments }: PayingOptions = JSON.parse(process.argv[2] ?? '{}');
const table = new Payments(file);
const paid: Paid = payments.map((payment) => {
  try {
    return { receipt: table.pay({ ...payment, orderId, atMostCents, reason: 'returned' }).receipt };
  } catch (error) {
    if (error instanceof OverRefund) return { leftCents: error.leftCents };
    throw error;
  }
});
table.close();
process.stdout.write(JSON.stringify(paid));
