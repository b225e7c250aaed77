/* SPDX-License-Identifier: Apache-2.0 */
uint mixed(uint value, uint by);

uint mixed(uint value, uint by)
{
	return (value ^ by) * 2654435761u;
}
