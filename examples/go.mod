module github.com/fakekafka/fakekafka/examples

go 1.26.0

replace github.com/fakekafka/fakekafka => ../
